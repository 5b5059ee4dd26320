"""The agent: turns a contentious question into every side's strongest sourced case."""
