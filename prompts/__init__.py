"""One file a prompt, and the loader."""
