"""Runs: started, followed, suspended, resumed and deleted. `open` is where the whole agent is put together."""
