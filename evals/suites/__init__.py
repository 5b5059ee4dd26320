"""The suites of `python -m evals NAME`, a module each: `add_arguments`, `measure` and `table`."""
