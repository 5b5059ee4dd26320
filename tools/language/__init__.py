"""English text: sentences, passages, near-duplicates."""
