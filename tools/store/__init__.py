"""Documents, passages, vectors and runs on disk, and the indexes built from them."""
