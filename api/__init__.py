"""`python -m api` starts the servers for programs: HTTP, OpenAI-compatible and MCP."""
