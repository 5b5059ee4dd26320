"""Records of replies, results and their comparison, tables."""
