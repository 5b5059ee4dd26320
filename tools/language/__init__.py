"""English text: sentences, passages, copies."""
