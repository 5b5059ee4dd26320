"""The stages of the graph, one per module: the node, and its implementations with and without a chat model."""
