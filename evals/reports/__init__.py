"""Stores replies, reads and compares results, and writes tables."""
