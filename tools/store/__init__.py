"""Documents, passages, vectors and runs on disk, and the indexes that are made from them."""
