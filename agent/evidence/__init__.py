"""What passages and claims are worth, shared by several stages: coverage, sentences, entailment, votes, follow-ups."""
