"""Measures the parts and the whole: `python -m evals SUITE`."""
