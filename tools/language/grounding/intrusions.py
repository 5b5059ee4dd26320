"""What has no place in a written claim whatever its passages say: addresses, markup, words about the answer itself.

A passage may hold them too, to be repeated; a reader should be sent nowhere, and told nothing about what to believe of
the other sides, by a sentence that stands as evidence. A model that writes can do without a request or a 'note to the
editor' that a source may well print, so that more is refused here than of passages (`tools.language.addressed`).
"""

import re
from collections.abc import Callable

from tools.language.addressed import speaks_to_the_writer

_HOST = r"(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|io|info|example|edu|gov|co|uk|eu|ai|app|de|fr|test)"
_ADDRESS = re.compile(  # 'Amazon.com' and 'ASP.NET' are names; to be sent there is another matter
    r"https?://|\bwww\.|\b[\w.+-]{1,64}@[\w-]{1,63}\.\w"
    rf"|\b{_HOST}/\S"
    rf"|\b(?:visit|see|go to|click|read more (?:at|on)|details (?:at|on))\s+(?:[\w']{{1,40}}\s+)?{_HOST}\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"<[a-z/!]|\]\(|!\[|^[^\S\n]*#{1,6}\s|`|\*\*|__|\{\{|&(?:[lg]t|amp|quot|nbsp|#\d{1,9});",
    re.IGNORECASE | re.MULTILINE,
)
_BEGINS = r"(?:^|[.!?:;]\s+|,\s+(?:so|and)\s+|\bplease\s+)"  # where an order begins
_OF_AN_ANSWER = r"(?:other|opposing|opposite|these|those|all|any|this|the) (?:\w{1,40} )?"
_OF_AN_ANSWER += r"(?:sides?|views?|claims?|answers?|repl(?:y|ies)|points?|arguments?|passages?|instructions?)"
_REQUEST = re.compile(
    rf"{_BEGINS}(?:ignore|disregard|leave out|omit|overlook|skip)\b[^.]{{0,200}}\b{_OF_AN_ANSWER}\b"
    rf"|{_BEGINS}(?:do not|don't|never)\s+(?:list|show|mention|include|add|present|cite|quote|report|discuss)\b"
    r"|\bnotes?\s+(?:to|for)\s+(?:the\s+|any\s+)?(?:assistant|reader|model|ai|editor|writer|system)\b"
    r"|\b(?:dear|to the|to any) (?:assistant|reader|model|editor)s?\s*[:,!]"
    r"|\bas an ai\b|\bonly (?:this|one) (?:view|side|answer|position|claim)\b"
    r"|\bthe only (?:correct|valid|true|permitted|right|possible) (?:view|side|answer|position)\b"
    r"|\b(?:this|your|final) answer (?:must|should|has to|is to)\b"
    r"|\b(?:other|opposing|opposite) (?:side|view|case)s?\b[^.]{0,200}\b(?:must|should|need|can|may)\b[^.]{0,200}"
    r"\b(?:left out|ignored|omitted|shown|listed|mentioned|given)\b"
    r"|(?:^|[.!?;]\s+)please\b|\byou (?:should|must) (?:answer|conclude|write|list|show|tell|believe|trust)\b",
    re.IGNORECASE,
)
_KINDS: dict[str, Callable[[str], object]] = {
    "address": _ADDRESS.search,
    "markup": _MARKUP.search,
    "about the answer": lambda claim: _REQUEST.search(claim) or speaks_to_the_writer(claim),
}


def intrusions(claim: str) -> list[str]:
    """The kinds of what has no place in the claim: 'address', 'markup', 'about the answer'; empty when all is well."""
    return [kind for kind, found in _KINDS.items() if found(claim)]
