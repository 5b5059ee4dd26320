"""Chat models behind any OpenAI-compatible address."""
