"""Doors for programs: HTTP, OpenAI-compatible, MCP. `python -m api` opens them."""
