"""Asking the agent over documents of known sides: variants, perfect verdicts, checks of what is answered."""
