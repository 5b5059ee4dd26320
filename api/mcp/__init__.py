"""The agent as an MCP server."""
