"""English questions by their grammar: claim, negation, neutral form, alternatives, topic.

`frame` reads a question; `evened` gives its wordings from either pole one form; `negate` and `same_polarity` work on
statements, `narrowed` finds the dispute behind a claim about one effect, `antecedent` what a pronoun stands for. The
rest is about single words. The lexicon is a file inside TextBlob, read by path: importing TextBlob itself would cost
every start a second.

Everything else is imported from here; the modules inside are the grammar's own.
"""

from tools.language.grammar.antecedents import antecedent
from tools.language.grammar.boundary import head_noun
from tools.language.grammar.clause import lower_first
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.framed import Form, Framing
from tools.language.grammar.framing import frame
from tools.language.grammar.inflect import is_gerund
from tools.language.grammar.lexicon import Word, is_name, is_noun_by_ending, is_word, lookup, words_of
from tools.language.grammar.negation import negate, same_polarity
from tools.language.grammar.poles import evened
from tools.language.grammar.tidying import tidy
from tools.language.grammar.width import Narrow, narrowed

__all__ = [
    "Form",
    "Framing",
    "Narrow",
    "Word",
    "antecedent",
    "evened",
    "finite_verb",
    "frame",
    "head_noun",
    "is_gerund",
    "is_name",
    "is_noun_by_ending",
    "is_word",
    "lookup",
    "lower_first",
    "narrowed",
    "negate",
    "same_polarity",
    "tidy",
    "words_of",
]
