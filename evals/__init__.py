"""`python -m evals SUITE` measures the agent and its parts."""
