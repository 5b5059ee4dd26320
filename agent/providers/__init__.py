"""What serves the stages: chat models and embedded providers, one falling back on the other, built from the settings.
What serves the stages: chat models and embedded providers, one falling back on the other, built from the settings."""
