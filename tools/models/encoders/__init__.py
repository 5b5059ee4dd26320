"""Encoders compute vectors of texts."""
