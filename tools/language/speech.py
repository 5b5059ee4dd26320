"""Reported speech: who says a sentence of prose that quotes people, such as a news report."""

UNNAMED = "somebody quoted"
"""The speaker of a sentence inside quotation marks whose speaker the passage does not name. The document's author must
not stand for it."""


def reported_speaker(sentence: str, passage: str) -> str:
    """The person or body that the passage reports to say the sentence: 'Ana Pereira' of '"…", said Ana Pereira'.

    sentence: one or two sentences of the passage, word for word but for spaces. Empty where the passage speaks for
    itself, so that its author says it; `UNNAMED` where it stands inside quotation marks of somebody whom the passage
    does not name. A name that is not certain begins with `tools.passages.PROBABLY`.

    For passages without a speaker of their own: `passage.speaker or reported_speaker(text, passage.text) or author`.
    """
    return ""
