"""What a question was found to ask, and the plain forms that can always be made of it."""

from dataclasses import dataclass
from typing import Literal

from tools.language.grammar.clause import capital, lower_first

Form = Literal["polar", "choice", "open", "claim", "fact", "none"]


@dataclass(frozen=True, slots=True)
class Framing:
    """What a question asks.

    `claim` and `negation` are sentences. They are empty where there are no two sides, and also for a form 'polar' or
    'claim' of which no statement can be made with certainty: `neutral` then replaces them, and its sides are Yes
    and No. A 'choice' has statements as `alternatives`, or else their names as `options`.
    """

    form: Form
    neutral: str
    claim: str = ""
    negation: str = ""
    alternatives: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    topic: str = ""


def sentence(text: str, end: str = "?") -> str:
    """The text with a capital and one mark at its end."""
    text = text.strip().rstrip(" ?.!,;:")
    return capital(text) + end if text else ""


def is_right(text: str) -> str:
    """The question whether a text is right that cannot be made part of a sentence."""
    plain = text.strip().rstrip(" .,;:").strip('"').replace('"', "'")
    return f'Is this right: "{plain}"?'


def is_quoted(neutral: str) -> bool:
    """Whether the neutral form asks whether a quotation is true."""
    return neutral.startswith('Is this true: "')


def asked_plainly(text: str, *, asks: bool) -> str:
    """A question as it is; a statement as the question whether it is true."""
    if asks:
        return sentence(text)
    plain = text.strip().rstrip(" .,;:?!")
    if any(mark in plain for mark in ("? ", "! ", ". ", "; ")):
        inner = plain.strip('"').replace('"', "'")
        return f'Is this true: "{inner}"?'
    return f"Is it true that {lower_first(plain)}?"
