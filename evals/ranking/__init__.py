"""Ranking corpora for the suite `retrieval`: sets with gold passages, retrievers by name, scores."""
