"""Serves OpenAI's chat completions. OpenAI's clients need only another base address."""
