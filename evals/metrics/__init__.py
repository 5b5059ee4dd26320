"""The measures, one family a file. How each is read where papers and code disagree is told in its docstring."""
