"""The analysis of English text into terms, for the lexical index and for whatever compares texts by their words."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer


@cache
def analyzer() -> "TextAnalyzer":
    """Lower case, no accents, no stop words, Snowball's English stems; the same for texts and queries."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.lowercase(), Filter.ascii_fold(), Filter.stopword("english"), Filter.stemmer("english")):
        builder = builder.filter(step)
    return builder.build()
