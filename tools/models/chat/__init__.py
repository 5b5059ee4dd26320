"""Chat models behind any OpenAI-compatible address, or of a vendor."""
