"""Training, fitting and packing of the embedded judge."""
