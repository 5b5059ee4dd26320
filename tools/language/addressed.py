"""What has no place in a claim, by patterns: addresses, markup, words about the answer, orders to its writer.

The patterns refuse the plainest orders (to a machine, about its instructions, about the answer or a side of it) and
marks of a chat. Verification refuses the others: a claim has to be in the passage that it cites. Every repetition has
an end, so that the time grows with the length alone.
"""

import re
import unicodedata

_MACHINE = (
    r"(?:AIs?|A\.I\.|LLMs?|(?:chat|search|answer)[ -]?bots?|assistants?|crawlers?|summari[sz]ers?|language models?"
    r"|(?:AI|automated)[ -](?:systems?|tools?|models?|assistants?|agents?|readers?)|the model)"
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
            rf"\b{_MACHINE}(?: that| who)?(?: are)? (?:read|summari[sz]|quot|cit|process)(?:e|es|s|ing)? {_THIS}\b",
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


def has_prompt_injection(text: str) -> bool:
    """Whether some of the text gives orders to the answer's writer. It is looked at as it reads: without letters
    in disguise and what is not seen, and with one space or line break where there are several."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'")
    seen = "".join(c for c in folded if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)
    return bool(_SPEAKING.search(_SPACE.sub(lambda space: "\n" if "\n" in space[0] else " ", seen)))


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


def claim_intrusions(claim: str) -> list[str]:
    """The kinds of text in a claim that have no place in one: 'address', 'markup', 'about the answer'; mostly none."""
    found = {
        "address": _ADDRESS.search(claim),
        "markup": _MARKUP.search(claim),
        "about the answer": _REQUEST.search(claim) or has_prompt_injection(claim),
    }
    return [kind for kind, match in found.items() if match]
