"""What the suite `report` makes of results: lines of one form, tables, figures, comparisons."""
