"""Reads benchmark data and gold. Errors name file, line and field."""
