"""The suites of `python -m evals NAME`. Each module has `add_arguments`, `measure` and `table`."""
