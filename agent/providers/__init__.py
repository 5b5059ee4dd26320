"""Which providers serve the stages, by the settings: chat models, judges, the indexes, the web."""
