"""The agent as an MCP server, over standard input and output and over HTTP.

One definition (`server.py`) serves both: tools that ask, resources that hold what was answered, progress while a run is
at work. Nothing that a client sends is used as a command or as the name of a file: collections are names of the store,
runs are ids of twelve hexadecimal digits.
"""
