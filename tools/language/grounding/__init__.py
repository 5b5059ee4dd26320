"""Whether a written claim says what its passages say."""
