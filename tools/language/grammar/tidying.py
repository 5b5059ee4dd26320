"""A question as it was typed, made plain: quotes, spaces, brackets, contractions, capitals."""

import re

from tools.language.grammar.casing import lowered

_SPELT: tuple[tuple[str, str], ...] = (
    (r"\bcan(?:'?t| not)\b", "cannot"),
    (r"\bwo(?:n't|nt)\b", "will not"),
    (r"\bshan't\b", "shall not"),
    (r"\bain'?t\b", "is not"),
    (r"\b(is|are|was|were|do|does|did|has|have|had|should|would|could)n'?t\b", r"\1 not"),
    (r"(?<=\w)n't\b", " not"),
    (r"\b(it|that|there|he|she|what|who|this)'s\b(?! (?:been|got|had|become|made|done)\b)", r"\1 is"),
    (r"\b(what|that|there|who|everyone|everybody|someone|nobody)s (?!got|been|had)(?=\w)", r"\1 is "),
    (r"\b(could|would|should|might|must)(?:'ve|ve)\b", r"\1 have"),
    (r"\b(?:b(?:ecau|cau|cu)[sz]e?|cuz|coz|cos)\b", "because"),
    (r"\b(they|we|you)'?re\b(?<!\bwere)", r"\1 are"),
    (r"\bI'?m\b", "I am"),
    (r"\bim\b", "I am"),
    (r"\b(they|we|you|I)'?ve\b", r"\1 have"),
    (r"\b(i)'d (?=(?:really |just )?(?:like|love|prefer|rather))", r"\1 would "),
    (r"(?<=\w) (?:n|&amp;) (?=\w)", " and "),
    (r"^let's\b", "we should"),
    (r"^(?-i:THBT?)(?: that)?\b", "This house believes that"),
    (r"^(?-i:THW)\b", "This house would"),
    (r"^(?-i:THS)\b", "This house supports"),
    (r"^(?-i:THR)\b", "This house regrets"),
    (r"^(?-i:THO)\b", "This house opposes"),
    (r"(?:^|(?<=[.?!] ))(why|how|what|who) (?:on earth|in the world|the hell|the heck|the f\w+)\b", r"\1"),
    (r"^why do not we (?:just |all |simply )*(?=\w)", "should we "),
    (r"^(?:shld|shud|shoud|shuld)\b", "should"),
    (r"^wud\b", "would"),
    (r"^wat\b(?= \w)", "what"),
    (r"^y\b(?= (?:do|does|is|are|did|should|would|can)\b)", "why"),
    (r"(?:^|(?<=\bor ))(?-i:r)\b(?= \w)", "are"),
    (r"^wh?ats\b(?= (?:the|so|wrong|up)\b)", "what is"),
    (r"^(?:pls|plz)\b ", ""),
    (r"(?<![\w.])u(?![\w.-])", "you"),
    (r"(?<![\w.])ur(?![\w.-])", "your"),
    (r"\bi\b(?=\s)", "I"),
)  # fmt: skip

_TITLE = r"(?![A-Z][\w-]*(?:(?: (?:of|the|and|in|for|to|a))* [A-Z][\w-]*)+['\"])"
"""What is no name of several words: those are better told by their quotation marks."""


def tidy(question: str) -> str:
    """The text in one line: plain quotes, no remarks in brackets, contractions written out, Title Case lowered."""
    text = question.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = re.sub(r"``\s*(.*?)\s*''", r'"\1"', text).replace("…", "...")
    text = re.sub(r"\s+", " ", text).strip()
    if text.startswith('"') and text.endswith('"') and '""' in text:  # as a table writes a text with quotation marks
        text = text[1:-1].replace('""', '"')
    text = re.sub(r"\s*--+\s*", " – ", text)
    text = re.sub(r"(?<=\w) : ", " – ", text)  # a heading, not a thing that the question is about
    text = re.sub(r" +(?=[?!,.;:](?:\s|$))", "", text)
    text = re.sub(r"(?<=\$) (?=\d)", "", text)
    text = _without_brackets(text)
    text = lowered(text)
    for pattern, written in _SPELT:
        text = re.sub(pattern, written, text, flags=0 if "I'" in pattern else re.I)
    text = re.sub(r"\b([Ii]s|[Aa]re|[Dd]o|[Dd]oes) i\b", r"\1 I", text)
    return text.lstrip("¿¡-–—•* ").rstrip("-–—* ")


def _without_brackets(text: str) -> str:
    """'[e]ven' is 'even'; what else stands in brackets is a remark, unless it belongs to a word."""
    text = re.sub(r"\[(\w)\](?=\w)", r"\1", text)
    text = re.sub(r"^[(\[][^()\[\]]*[)\]]\s+(?=\w)", "", text)
    return re.sub(r"\s+[(\[][^()\[\]]*[)\]](?=[\s.,:;?!]|$)", "", text)


def without_scare_quotes(text: str) -> str:
    """The text with quoted words and names as plain ones: 'Is "progress" a myth?' asks whether progress is a myth."""
    text = re.sub(rf'"{_TITLE}([^"\s]+(?: [^"\s]+){{0,3}})"', r"\1", text)
    return re.sub(rf"(?<!\S)'{_TITLE}((?:[^'\s]|'(?=\w))+(?: (?:[^'\s]|'(?=\w))+){{0,3}})'(?!\w)", r"\1", text)


def unquoted(text: str) -> str:
    """The text without quotation marks; apostrophes stay."""
    text = re.sub(r'"', "", text)
    return re.sub(r"(?<![\w.?!])'(?=\S)|(?<=[\w.?!,])'(?![\w])(?<!s')", "", text)
