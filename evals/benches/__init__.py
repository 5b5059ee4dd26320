"""The parts of the suite `bench` that need servers or a browser."""
