"""What a follow-up names of the answer: a claim or source by its number, sources by speaker, publisher or kind, a side
by its name or by where it stands."""

import re

from agent.answer.followups import ORDINALS
from agent.answer.intents import names_of_source
from agent.answer.model import Answer, AnswerPerspective
from tools.language.grounding import stems
from tools.language.words import KEYWORD_STOP_WORDS, LIGHT_WORDS

_KINDS_OF_SOURCE = {
    "news": r"news\w*|press|journalis\w+|reporters?",
    "academic": r"acad\w+|scien\w+|stud(?:y|ies)|research\w*|professors?|peer|scholar\w*|universit\w+|journals?",
    "government": r"gover\w+|ministr\w+|official\w*|state|authorit\w+|public bod\w+",
    "personal": r"personal|opinions?|columns?|columnists?|commentar\w+|blogs?|diar\w+|letters?",
    "advocacy": r"advoca\w+|lobby\w*|campaign\w*|activis\w+|charit\w+|n\.?g\.?o\.?s?|interest groups?",
    "reference": r"reference|encyclop\w+|handbooks?|dictionar\w+|textbooks?",
    "company": r"compan\w+|firms?|business\w*|industry",
    "forum": r"forums?",
}


def sources_in(words: str, answer: Answer) -> set[int]:
    """The sources that the words name: by speaker, publisher, title or kind."""
    kinds = [kind for kind, said in _KINDS_OF_SOURCE.items() if re.search(rf"\b(?:{said})\b", words, re.I)]
    by_name = {c.number for c in answer.citations if any(_named(n, words) for n in (*names_of_source(c), c.title))}
    return by_name or {c.number for c in answer.citations if any(kind in c.kind for kind in kinds)}


def _named(name: str, words: str) -> bool:
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.I) is not None


_CARDINALS = "one two three four five six seven eight nine ten".split()
_NOUNS = "claim|source|citation|sentence|quote|quotation|reference|statement|point|argument|number"
_COUNTED = re.compile(
    rf"\b(?:{_NOUNS}|no\.?|#) (?P<cardinal>{'|'.join(_CARDINALS)})\b"
    rf"|(?<!\ba )(?<!\bone )\b(?P<ordinal>{'|'.join(ORDINALS)}|last)\b",
    re.I,
)


def number_in(asked: str, answer: Answer) -> int | None:
    """The number of the answer that is named: '3', 'the third', 'quote three', 'the last one'; or that of the source
    with a figure that is named."""
    known = {c.number for c in answer.citations}
    for figure in re.findall(r"\d+(?:[.,]\d+)*", asked[:400]):
        within = re.compile(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)")
        quoted = [c.number for c in answer.citations if any(map(within.search, (c.quote, *(q.quote for q in c.more))))]
        if figure.isdigit() and int(figure) in known:
            return int(figure)
        if quoted:
            return quoted[0]
    if (named := _COUNTED.search(asked)) is None:
        return None
    word = (named["ordinal"] or named["cardinal"]).casefold()
    if word == "last":
        return max(known, default=None)
    number = (ORDINALS if named["ordinal"] else _CARDINALS).index(word) + 1
    return number if number in known else None


def quoted_in(asked: str, answer: Answer) -> int | None:
    """The source whose words and title hold more of the asked words than any other's; light words and those of
    the question tell nothing. None where no source holds one, or two hold as many."""
    light = " ".join((_NOUNS, "explain", *KEYWORD_STOP_WORDS, *LIGHT_WORDS, answer.neutral_question, answer.question))
    wanted = {stem for stem in stems(asked) if stem.isalpha()} - {*stems(light.replace("|", " "))}
    told = {c.number: " ".join([c.title, c.quote, *(q.quote for q in c.more)]) for c in answer.citations}
    held = {number: len(wanted & {*stems(words)}) for number, words in told.items()}
    most = max(held.values(), default=0)
    best = [number for number, n in held.items() if n == most]
    return best[0] if most and len(best) == 1 else None


_POLES = {
    "supports": re.compile(
        r"\bfor\W*$|\b(?:yes|pros?|agree|support\w*|proponents?|advocates?|defenders?|fans|in (?:its )?favou?r|"
        r"upsides?|advantages?|benefits?|positives?|for (?:side|camp|case|it|this|that)|"
        r"(?:speaks?|case|arguments?|reasons?) for|reasons? to|why should)\b"
    ),
    "opposes": re.compile(
        r"\b(?:no|against|con|cons|contra|antis?|disagree|oppos\w+|opponents?|critics?|s[ck]eptics?|doubters|naysayers|"
        r"downsides?|drawbacks?|disadvantages?|negatives?|objections?|concerns|worri\w+|reasons? not|why not|"
        r"should(?:n.t| not))\b"
    ),
}


def side_in(asked: str, answer: Answer, *, speaking: bool = False) -> AnswerPerspective | None:
    """The side that is named, by its name or by where it stands on the question. Of two the last, which is spoken
    about; speaking: the first, which speaks, as in 'what do critics say to the yes side'."""
    said = asked.casefold()
    for side in sorted(answer.perspectives, key=lambda s: -len(s.name)):
        name = side.name.removesuffix(" …").casefold()
        if len(name) > 3 and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said):  # others than Yes and No
            return side
    found = sorted((match.start(), stance) for stance, words in _POLES.items() for match in words.finditer(said))
    if not found:
        return None
    return next((s for s in answer.perspectives if s.stance == found[0 if speaking else -1][1]), None)
