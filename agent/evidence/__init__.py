"""Code that several stages share: coverage, sentence scores, cases."""
