"""The stages of the graph, one a module: its node, and its implementations with and without a chat model."""
