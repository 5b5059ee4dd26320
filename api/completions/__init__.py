"""Serves OpenAI's chat completions and responses. OpenAI's clients need only another base address."""
