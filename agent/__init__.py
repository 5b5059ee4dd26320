"""The agent: answers a contentious question with every side's strongest sourced case."""
