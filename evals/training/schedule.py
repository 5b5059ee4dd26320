"""The learning rate of a training run."""


def linear(done: float, warm_up: float) -> float:
    """The share of the highest rate when `done` of a run (0 to 1) is over: up in a line over the first `warm_up` of it,
    from a fiftieth, so that the first steps count, then down in a line to 0."""
    return min(done / warm_up + 0.02, (1 - done) / (1 - warm_up))
