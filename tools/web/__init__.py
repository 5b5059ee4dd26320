"""Searches the web and reads its pages."""
