"""The measures, one family a file. Docstrings say which reading is used if papers and code disagree."""
