"""The suites of `python -m evals NAME`, one module each: `add_arguments`, `measure` and `table`."""
