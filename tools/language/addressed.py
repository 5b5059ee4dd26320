"""Text that gives orders to whoever writes an answer: it argues for nothing, whatever else it says, and is no evidence.

What is retrieved is quoted and never obeyed: prompts say so to a model, and every claim is verified. These few patterns
spare readers the plainest orders (to a machine, about its instructions, about the answer or a side of it) and marks of
a chat; orders that nobody foresaw pass. Every repetition has an end, so that the time grows with the length alone.
"""

import re
import unicodedata
from functools import lru_cache

_MACHINE = (
    r"(?:AIs?|A\.I\.|LLMs?|(?:chat|search|answer)[ -]?bots?|assistants?|crawlers?|summari[sz]ers?|language models?"
    r"|AI[ -](?:systems?|tools?|models?|assistants?)|automated readers?|the model)"
)
_ANSWER = r"(?:answer|reply|response|output|summary|overview|report)"
_THIS = r"(?:this|the present|these) (?:text|page|article|passage|document|site|question)s?"
_SIDE = r"(?:other|opposing|opposite|contrary|dissenting) (?:side|view|perspective|case|position|argument|opinion)s?"
_ROLE = r"(?:system|assistant|user|developer)(?: (?:message|prompt|note))?"
_SPEAKING = re.compile(
    "|".join(
        (
            r"<\|\w{1,40}\|>|\[/?INST\]|</?(?:system|assistant|user|human|instructions?|prompt)\b[^>]{0,200}>",
            rf"(?:^|\n|[.!?>]\s)\s?(?:#{{2,6}} ?(?:instructions?|response|system|prompt)\b|{_ROLE}:\s)",
            rf"<!--\s?(?:note )?(?:to |for )?(?:the |all )?{_MACHINE}\b",
            rf"\b(?:notes?|instructions?|messages?|important) (?:to|for) (?:the |any |all |every )?{_MACHINE}\b",
            rf"\b(?:dear|hello|attention,?) {_MACHINE}\s?[,:!]",
            rf"\bas an? (?:helpful )?{_MACHINE},? you\b|\byou are (?:now )?an? (?:helpful )?{_MACHINE}\b",
            r"\b(?:ignore|disregard|forget|overrides?|bypass)\b[^.]{0,40}\b(?:previous|prior|above|earlier|your|system)"
            r"\b[^.]{0,12}\b(?:instructions?|prompts?|guidelines?|messages?|orders|rules)\b",
            r"\b(?:ignore|disregard|forget) (?:everything |all )?(?:the )?above\b|\b(?:your|the) system prompt\b"
            r"|\bnew instructions?\s?:|\bfrom now on,? you (?:will|must|shall|only)\b",
            rf"\b(?:in|of|to|from|for|into) your (?:final |next |own )?{_ANSWER}\b",
            rf"\byour (?:final |next )?{_ANSWER} (?:must|should|shall|has to|is to|may not|cannot)\b",
            rf"\b(?:when|while|before|if)(?: you(?: are)?)? (?:summari[sz]|answer|quot|cit)(?:e|ing)? {_THIS}\b",
            rf"\b{_SIDE}\b[^.]{{0,70}}?\b(?:must|should|shall|has to|have to|is to|are to) (?:therefore )?be (?:left"
            r" (?:out|empty|blank)|omitted|dropped|deleted|skipped|suppressed|withheld)\b",
            rf"\b(?:do not|don't|never) (?:include|mention|show|list|cite|quote|present)\b[^.]{{0,30}}\b(?:{_SIDE}|both"
            r" sides|counter-?arguments?)\b(?! (?:as|in|on|the|from)\b)",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
_SPACE = re.compile(r"\s+")
_UNSEEN = ("Cf", "Cc", "Cs", "Co")


@lru_cache(maxsize=4096)
def speaks_to_the_writer(text: str) -> bool:
    """Whether some of the text gives orders to whoever writes an answer. It is looked at as it reads: without letters
    in disguise and what is not seen, and with one space or line break where there are several."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'")
    seen = "".join(c for c in folded if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)
    return bool(_SPEAKING.search(_SPACE.sub(lambda space: "\n" if "\n" in space[0] else " ", seen)))
