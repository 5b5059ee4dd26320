"""The answer: its model (`model`), its assembly (`assemble`), its renderings (`outline`, `files`)."""
