"""A chat model that is played on this machine, for what a suite wants to know of any model."""
