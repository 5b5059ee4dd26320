"""The stages of the graph, one file each. A file's `node(providers)` binds the clients and returns the stage."""
