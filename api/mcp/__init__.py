"""Steelman as an MCP server."""
