"""Answers that a person ticked, such as yes, against or unsure, and sentences that hold them with their question."""

import re

_TICKS = {
    "yes": r"yes|for|(?:in )?favou?r|supports?|agrees?",
    "no": r"no|against|oppose[sd]?|objects?|disagrees?",
    "": r"unsure|not sure|undecided|neutral|maybe|do(?: not|n['’]?t) know|no (?:opinion|view)|prefer not to say"
    r"|neither(?: \w+ nor \w+)?",
}
_DEGREE = r"(?:(?:strongly|fully|mostly|somewhat|slightly|definitely|probably|tend to) )?"
_NUMBERED = re.compile(r"q(?:uestion)?\W?\d+[a-z]?[\W_]+(?=\w)", re.IGNORECASE)  # 'Q3: ' before a question
_SENTENCE = re.compile(rf"([^:\n]{{2,300}}): {_DEGREE}(?:({_TICKS['yes']})|({_TICKS['no']})|{_TICKS['']})\.(?:\s+|$)")


def is_tick(value: str) -> bool:
    """Whether a value is such an answer."""
    return bool(_SENTENCE.fullmatch(f"It: {value.strip('.').lower()}."))


def tick_sentence(question: str, value: str) -> str:
    """Returns 'Silence bells at night: no.' for the column 'silence_bells_at_night' and the value 'No'."""
    asked = " ".join(_NUMBERED.sub("", question, count=1).replace("_", " ").split()).rstrip(" ?:.")
    said = value.lower() if is_tick(value) else value  # a remark keeps its capitals
    return f"{asked[:1].upper()}{asked[1:]}: {said.rstrip('.')}."


def ticked_answers(text: str) -> list[tuple[str, str, bool]]:
    """Returns for each such sentence that begins the text its question, its side ('yes', 'no', or '' for the undecided)
    and whether the answer is a wish, such as 'against'; 'no' may also tell a fact."""
    found, at = list[tuple[str, str, bool]](), 0
    while match := _SENTENCE.match(text, at):
        said = match[2] or match[3] or ""
        found.append((match[1], "yes" if match[2] else "no" if said else "", said not in ("yes", "no")))
        at = match.end()
    return found
