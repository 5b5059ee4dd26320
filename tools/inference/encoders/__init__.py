"""Encoders turn texts into vectors; the re-ranker reads a query and a text together."""
