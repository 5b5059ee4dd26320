"""The preference study: ballots, the page on which people vote, the statistics and the suite, end to end."""
