"""What the agent uses on the world: sources, the store, search, the encoder and the judges."""
