"""The models of a run, and the indexes and web search that its stages use."""
