"""English questions by their grammar: claim, negation, neutral form, alternatives, topic.

`frame` reads a question; `evened` gives its wordings from either pole one form; `negate` and `same_polarity` work on
statements. The words come from the lexicon file inside TextBlob, read by path: importing TextBlob itself would cost
every start a second.
"""

from tools.language.grammar.framed import Form, Framing
from tools.language.grammar.framing import frame
from tools.language.grammar.negation import negate, same_polarity
from tools.language.grammar.poles import evened

__all__ = ["Form", "Framing", "evened", "frame", "negate", "same_polarity"]
