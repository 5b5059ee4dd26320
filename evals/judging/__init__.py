"""Judging labelled pairs for the suite `judge`, and what judges may not have been trained on."""
