"""OpenAI's chat completions. OpenAI's clients only change their base address."""
