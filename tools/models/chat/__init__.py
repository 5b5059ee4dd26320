"""Chat models of vendors, such as Anthropic, and of OpenAI-compatible servers."""
