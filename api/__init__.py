"""Servers for programs: HTTP, OpenAI-compatible and MCP. `python -m api` starts them."""
