"""The answer: what it is (`model`), how it is made from a run's state (`assemble`), and how it is shown (`outline`,
`files`)."""
