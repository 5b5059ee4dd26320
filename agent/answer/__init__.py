"""The answer: what it is (`model`), how it is made from a run's state (`build`), and how it is shown (`render/`)."""
