"""Trains and packs the embedded judges; writes the other shipped files."""
