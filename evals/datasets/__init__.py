"""Reading benchmark data and gold; what is wrong with a file is told with its line and field."""
