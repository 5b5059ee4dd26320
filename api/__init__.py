"""Steelman for programs: HTTP, OpenAI-compatible, MCP. `python -m api` serves it."""
