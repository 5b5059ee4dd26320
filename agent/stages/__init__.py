"""The stages of the graph, one a module: its node, what serves it without a model, and by a chat model."""
