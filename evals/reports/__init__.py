"""Results: records that are resumed, lines of one form, tables, figures, comparisons of two."""
