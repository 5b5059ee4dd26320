"""The measures, one family a file. If a paper and its code disagree, the docstring says which of them the measure
follows."""
