"""Code that several stages share: coverage, sentence scores, quotations, claim checks."""
