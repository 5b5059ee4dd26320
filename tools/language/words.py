"""English words: lists of those that say nothing of a matter, or deny what is said of it, each for one use; the terms
that texts are compared by; and numbers of things in words.

The lists differ where a shared one would change results: what may be left out of a query is not what may be left out of
a comparison, and a word that negates a clause need not negate a sentence.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

NEGATORS = frozenset("not no never cannot nobody none nothing neither".split())
"""Words that negate whatever they stand in; each use adds those that negate only there."""

QUERY_FILLERS = frozenset(
    "a about also am an and any are as at be because been being but by can could did do does doing for from had has "
    "have having he her here him his how i if in into is it its just may me might more most must my of on or our ours "
    "own she should so some such than that the their them then there these they this those to too us very was we were "
    "what when where whether which while who whom whose why will with would you your".split()
)
"""What a search engine's query can do without. Negations are not among them: they turn a query round."""

KEYWORD_STOP_WORDS = frozenset(
    "a an the of to in on for and or is are was were be been being should would could will can may might must do does "
    "did it its this that these those by with as at from than then there their they who which what how so such "
    "have has had more most very into about over under only all any some".split()
)
"""What is no keyword of a statement. Negations are not among them either."""

LIGHT_WORDS = frozenset(
    "can could may might must shall should will would do does did has have had be been being am was were than then so "
    "more most very also only even just when where who whom whose which what how why while because since though "
    "although he she his her him its our we you your my me us i from over under up down out about after before "
    "between against within without through during each other some any own same too yet both either neither nor here "
    "there".split()
)
"""Words without content that the analyzer keeps (`tools.language.words`), for comparing a claim with a passage."""

ENGLISH_MARKERS = frozenset(
    "the and that this with which would their they them been has who there when were should could these those what "
    "than because not you your from it its about into through while where whether does did how".split()
)
"""What English prose cannot be written without, and no other language writes: Danish has 'for', 'at', 'have' and 'is',
Dutch 'of', 'was', 'had' and 'he'."""

FOREIGN_OPENERS = {
    opener: language
    for language, *openers in map(
        str.split,
        "de ist soll sollen sollte sollten darf dürfen kann können warum wieso|fr faut doit peut pourquoi|sv bör ska|"
        "nl moet moeten waarom|es debe deben debería deberían deberia|pt devem deveria|it dovrebbe dovrebbero perché|"
        "da bør skal|pl czy|id apakah haruskah".split("|"),
    )
    for opener in openers
}
"""What questions in other languages begin with and no English one does, with the likeliest language (ISO 639-1): the
words after it may be those of both."""


@cache
def analyzer() -> "TextAnalyzer":
    """Lower case, no accents, no stop words, Snowball's English stems; the same for texts and queries."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.lowercase(), Filter.ascii_fold(), Filter.stopword("english"), Filter.stemmer("english")):
        builder = builder.filter(step)
    return builder.build()


def count(number: int, noun: str) -> str:
    """'1 passage', '1,200 passages'; the plural is made with an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
