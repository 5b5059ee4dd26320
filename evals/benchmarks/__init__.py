"""Speed of the parts and of the whole, for the suite `bench`."""
