"""Parses files into documents and stores documents in collections."""
