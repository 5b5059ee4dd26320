"""Word rules for claims. They find numbers, names and words that the cited text lacks, and text that no claim may
contain. The findings are hints for the chat model that checks claims, and decide only if that model is not trusted."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tools.language.lexicon import LIGHT_WORDS, NEGATORS, analyzer, is_name, lexicon_tag
from tools.language.sentences import SENTENCE_GAP, clean_text, is_no_prose, split_sentences

# Numbers in digits or words, as comparable values

NumberValue = tuple[str, Fraction]
"""A number's meaning: ('count', 40) for '40' and '40th', ('ratio', 2/5) for '40 %', ('part', 2/5) for 'two fifths'."""

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
_UNITS = {word: value for value, word in enumerate((_SMALL + "seventeen eighteen nineteen").split())}
_UNITS |= {w: 10 * v for v, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT_SCALES = {"k": 10**3, "mn": 10**6, "mln": 10**6, "m": 10**6, "bn": 10**9, "trn": 10**12, "tn": 10**12}
_RANKS = {w: v for v, w in enumerate("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 3)}
_RANKS |= {f"{word.removesuffix('y')}{'ie' * word.endswith('y')}th": v for word, v in _UNITS.items() if v > 12}
_PARTS = {"half": 2, "halve": 2, "quarter": 4} | _RANKS | {f"{word}th": value for word, value in _SCALES.items()}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_DIGITS = (
    r"(?:\d{1,3}(?:[,' ]\d{3}){1,9}(?:\.\d{1,20})?(?![\d,])|\d{1,3}(?:\.\d{3}){2,9}(?!\d)|\d{1,30}(?:[.,]\d{1,20})?)"
)
_MORE = rf"(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and )(?:{_any_of([*_UNITS, *_SCALES])})\b)*"
_CARDINAL = (
    rf"(?:{_DIGITS}(?:[ -](?:{_any_of(_SCALES)})\b|(?:{_any_of(_SHORT_SCALES)})\b)?"
    rf"|\b(?:{_any_of(_UNITS)})\b{_MORE}|\ban? (?:{_any_of(_SCALES)})\b{_MORE})"
)
_PERCENT = r"(?: |-)?(?:%|percent(?:age)?\b|per[ -]+cent\b|pc\b)"
_NUMBER = re.compile(
    rf"(?P<half>\bhal(?:f|ve[sd]?|ving)\b)(?:[ -]a[ -](?P<scale>{_any_of(_SCALES)})\b)?"
    rf"|(?P<above>\d{{1,9}})/(?P<below>\d{{1,9}})(?![\d/])"
    rf"|(?P<some>{_CARDINAL}|\ban?(?= (?:{_any_of(_PARTS)})\b))"
    rf"(?:(?P<percent>{_PERCENT})|[ -](?P<part>{_any_of(_PARTS)})s?\b"
    rf"| (?:out )?(?:of|in)(?: every| the)? (?P<whole>{_CARDINAL})(?!{_PERCENT})"
    rf"|(?P<ranged>(?=(?: to | or | and | ?- ?){_CARDINAL}{_PERCENT})))?"
    rf"|\b(?P<rank>{_any_of(_RANKS)})\b",
    re.IGNORECASE,
)
_VULGAR = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_SPACES = re.compile(r"\s+")
_NO_HALF = re.compile(r" an?\b| ?-| past\b")  # 'half an hour', 'half-time', 'half past six'
_LARGEST_SHARE = 1000  # 'two in 2019' is no share
_ROUGHLY = {"part": Fraction(1, 50), "ratio": Fraction(1, 200)}  # 'a third' is said of 34 %, '33 %' of a third


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number in a text. keys: the values that the number may mean. inner: the values of its parts, such as 3 in 'one
    in three'. vague: the text may be no number, such as 'one'."""

    text: str
    keys: frozenset[NumberValue]
    inner: frozenset[NumberValue] = frozenset()
    vague: bool = False


def plain_text(text: str) -> str:
    """Returns the text with plain dashes, plain quotation marks, plain digits and single spaces, for comparison."""
    text = unicodedata.normalize("NFKC", _VULGAR.sub(" ", text))
    text = re.sub(r"[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]", "-", text).replace("\u00ad", "").replace("\u2044", "/")
    return _SPACES.sub(" ", re.sub("[‘’‚‛ʼ´`]", "'", re.sub("[“”„‟«»]", '"', text))).strip()


def find_numbers(text: str) -> Iterator[WrittenNumber]:
    """Yields the numbers of a text in order. The text must come from `plain_text`."""
    at = 0
    while match := _NUMBER.search(text, at):
        number = _written_number(match)
        at = match.start() + max(len(number.text), 1)
        if number.keys:
            yield number


def number_values(texts: Iterable[str]) -> frozenset[NumberValue]:
    """Returns all values that the numbers of the texts, or parts of these numbers, may mean. The texts must come from
    `plain_text`."""
    return frozenset(key for text in texts for n in find_numbers(text) for key in n.keys | n.inner)


def is_stated(number: WrittenNumber, known: frozenset[NumberValue]) -> bool:
    """Whether one of the number's values is known, or all its parts are. For example, '3 of 8' is stated if '8 towns'
    and '3' are known. A fraction in words matches percentages close to its value."""
    if number.keys & known:
        return True
    if number.inner and min(value for _, value in number.inner) > 2 and number.inner <= known:
        return True
    return any(
        abs(value - other) <= _ROUGHLY[kind]
        for kind, value in number.keys
        for other_kind, other in known
        if {kind, other_kind} in ({"part"}, {"part", "ratio"})
    )


def _written_number(match: re.Match[str]) -> WrittenNumber:
    said = {name: text.lower() for name, text in match.groupdict().items() if text is not None}
    some, inner = _cardinal_values(said.get("some", "")), frozenset[NumberValue]()
    text, vague = match[0], said.get("some") == match[0].lower() == "one"
    if scale := said.get("scale"):
        keys = {("count", Fraction(_SCALES[scale], 2))}
    elif "half" in said:
        keys, vague = {("part", Fraction(1, 2))}, bool(_NO_HALF.match(match.string, match.end()))
    elif "above" in said:
        above, below = int(said["above"]), int(said["below"])
        keys = {("part", Fraction(above, below))} if above < below <= 100 else set()
        text = text if keys else said["above"]
        keys = keys or {("count", Fraction(above))}
    elif "percent" in said:
        keys = {("ratio", some[0] / 100)}
    elif part := said.get("part"):
        keys, vague = {("part", some[0] / _PARTS[part])}, match.string.startswith(" of an hour", match.end())
        keys |= {("count", Fraction(_RANKS[part]))} if some[0] == 1 and part in _RANKS else set()
    elif "whole" in said and some[0] < (whole := _cardinal_values(said["whole"])[0]) <= _LARGEST_SHARE:
        keys, inner = {("part", some[0] / whole)}, frozenset({("count", some[0]), ("count", whole)})
    elif "rank" in said:
        keys = {("count", Fraction(_RANKS[said["rank"]]))}
    else:
        text = match["some"]
        keys = {("count", value) for value in some} | {("ratio", value) for value in some if 0 < value < 1}
        keys |= {("ratio", some[0] / 100)} if "ranged" in said else set()
    return WrittenNumber(text, frozenset(keys), inner, vague)


def _cardinal_values(cardinal: str) -> list[Fraction]:
    """Returns the possible values of a cardinal, likeliest first. For example, '5m' means millions or metres."""
    if found := re.match(_DIGITS, cardinal):
        value, scale = _decimal(found[0]), cardinal[found.end() :].strip(" -")
        return [value * _SHORT_SCALES[scale], value] if scale in _SHORT_SCALES else [value * _SCALES.get(scale, 1)]
    total, part = 0, 0
    for word in re.findall("[a-z]+", cardinal):
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            part += _UNITS.get(word, 0)
    return [Fraction(total + part or cardinal.startswith("a"))]  # 'a' third


def _decimal(digits: str) -> Fraction:
    """'1,500' and '1.500.000' are grouped; '40,5' has a decimal comma."""
    if re.fullmatch(r"\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?", digits) or digits.count(".") > 1:
        digits = re.sub(r"[,' ]" if digits.count(".") <= 1 else r"\.", "", digits)
    return Fraction(digits.replace(",", "."))


# Text that no claim may hold

_MODEL_NAMES = (
    r"(?:AIs?|A\.I\.|LLMs?|(?:chat|search|answer)[ -]?bots?|assistants?|crawlers?|summari[sz]ers?|language models?"
    r"|(?:AI|automated)[ -](?:systems?|tools?|models?|assistants?|agents?|readers?)|the model)"
)
_ANSWER = r"(?:answer|reply|response|output|summary|overview|report)"
_THIS = r"(?:this|the present|these) (?:text|page|article|passage|document|site|question)s?"
_SIDE = r"(?:other|opposing|opposite|contrary|dissenting) (?:side|view|perspective|case|position|argument|opinion)s?"
_ROLE = r"(?:system|assistant|user|developer)(?: (?:message|prompt|note))?"
_INJECTION = re.compile(
    "|".join(
        (
            r"<\|\w{1,40}\|>|\[/?INST\]|</?(?:system|assistant|user|human|instructions?|prompt)\b[^>]{0,200}>",
            rf"(?:^|\n|[.!?>]\s)\s?(?:#{{2,6}} ?(?:instructions?|response|system|prompt)\b|{_ROLE}:\s)",
            rf"<!--\s?(?:note )?(?:to |for )?(?:the |all )?{_MODEL_NAMES}\b",
            rf"\b{_MODEL_NAMES}(?: that| who)?(?: are)? (?:read|summari[sz]|quot|cit|process)(?:e|es|s|ing)? {_THIS}\b",
            rf"\b(?:notes?|instructions?|messages?|important) (?:to|for) (?:the |any |all |every )?{_MODEL_NAMES}\b",
            rf"\b(?:dear|hello|attention,?) {_MODEL_NAMES}\s?[,:!]",
            rf"\bas an? (?:helpful )?{_MODEL_NAMES},? you\b|\byou are (?:now )?an? (?:helpful )?{_MODEL_NAMES}\b",
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
_INVISIBLE_CATEGORIES = ("Cf", "Cc", "Cs", "Co")


def has_prompt_injection(text: str) -> bool:
    """Whether the text gives orders to the model that writes the answer, even in disguised letters. The patterns cover
    plain orders and chat markup. The later check of claims refuses the effect of other orders, because the cited
    passage must say each claim. Repetitions in the patterns are bounded, so that matching takes linear time."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'")
    seen = "".join(c for c in folded if c in "\n\t" or unicodedata.category(c) not in _INVISIBLE_CATEGORIES)
    return bool(_INJECTION.search(_SPACES.sub(lambda space: "\n" if "\n" in space[0] else " ", seen)))


_HOST = r"(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|io|info|example|edu|gov|co|uk|eu|ai|app|de|fr|test)"
_ADDRESS = re.compile(  # 'Amazon.com' and 'ASP.NET' are names, but 'go to Amazon.com' is an order
    r"https?://|\bwww\.|\b[\w.+-]{1,64}@[\w-]{1,63}\.\w"
    rf"|\b{_HOST}/\S"
    rf"|\b(?:visit|see|go to|click|read more (?:at|on)|details (?:at|on))\s+(?:[\w']{{1,40}}\s+)?{_HOST}\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"<[a-z/!]|\]\(|!\[|^[^\S\n]*#{1,6}\s|`|\*\*|__|\{\{|&(?:[lg]t|amp|quot|nbsp|#\d{1,9});",
    re.IGNORECASE | re.MULTILINE,
)
_BEGINS = r"(?:^|[.!?:;]\s+|,\s+(?:so|and)\s+|\bplease\s+)"  # the beginning of an order
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


def has_forbidden_text(claim: str) -> bool:
    """Whether a claim holds an address, markup, or a request about the answer."""
    return any(p.search(claim) for p in (_ADDRESS, _MARKUP, _REQUEST)) or has_prompt_injection(claim)


# Comparison of a claim with the texts that it cites

_LONGEST_SPEAKER = 100  # characters
_NEGATORS = NEGATORS | frozenset("nor without hardly barely rarely seldom deny denies denied denying".split())
_INSTEAD = re.compile(r"\b(?:rather than|instead of|as opposed to|(?:and|but) not)\b")
_CLAUSE_END = re.compile(
    r"[,;:!?\n]|\.(?!\d)|\b(?:because|since|but|yet|whereas|while|although|though|so|which|who|unless|if|when|than)\b"
)
_PAUSE = re.compile(r"[,;:]\s+|\s+[\u2013\u2014-]\s+|(?<=[.!?])\s+")
_SHARED_WORDS = 3  # content words that two clauses must share before one can deny the other
_CLAUSE_OVERLAP = 0.7  # share of the shorter clause's content words that both clauses have
_PART_WORDS = 4  # content words; a shorter part says too little for a search
_KNOWN_SHARE = 0.3  # share of a part's content words that the document has
_REMEMBERED = 4096  # texts
_DOCUMENTS = 128


def word_hints(claim: str, document: str) -> list[str]:
    """Returns the facts and parts of a claim that the document (its whole text, title and metadata) lacks."""
    hints = [f"not found: {fact}" for fact in missing_facts(claim, document)]
    known = frozenset[str]().union(*map(_content_stems, document.splitlines()))  # not cached: a whole text is long
    parts = ((part, _content_stems(part)) for part in _PAUSE.split(claim))
    added = (p for p, words in parts if len(words) >= _PART_WORDS and len(words & known) < _KNOWN_SHARE * len(words))
    return hints + [f"hardly a word found: {part}" for part in added]


_FIGURE = re.compile(r"\d+(?:[.,]\d+|[\u00a0\u202f' ]\d{3}(?!\d))*")


def figure_hints(claim: str, document: str) -> list[str]:
    """Returns hints on the claim's figures that the document lacks. Only digits count, because languages separate them
    differently: '1.500' and '1,500'."""
    known, found = (
        {"".join(filter(str.isdigit, figure)): figure for figure in _FIGURE.findall(text)} for text in (document, claim)
    )
    return [f"not found: {figure}" for digits, figure in found.items() if digits not in known]


def verbatim(claim: str, passage: str) -> bool:
    """Whether the passage contains the claim's words unchanged. White space may differ. False for an empty claim."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)


def overlaps(one: str, other: str) -> bool:
    """Whether one of the texts contains the other one word for word, apart from the marks at its end."""
    ends = " .,;:!?…"
    return verbatim(one.strip(ends), other) or verbatim(other.strip(ends), one)


_NO_SPEAKER = re.compile(
    r"(?i)\W*(?:I|we|you|he|she|they|it|(?:the )?(?:author|writer|speaker|passage|document|text)s?|nobody|somebody)\W*|"
    r".*\bquoted\b.*"
)

_PART_OF_NAME = re.compile(r"[,;()/]|\b(?:of|for|from|at|the|an?)\b")


def names_speaker(name: str, document: str) -> bool:
    """Whether a short name or description is in the document. Its parts ('Ann Lee', 'chair', 'the Trust') may be apart,
    but the words of each part are in sequence."""
    known, own = (plain_text(text).casefold() for text in (document, name))
    parts = [" ".join(re.findall(r"\w+", part)) for part in _PART_OF_NAME.split(own)]
    words = " ".join(["", *re.findall(r"\w+", known), ""])
    refused = len(name) > _LONGEST_SPEAKER or _NO_SPEAKER.fullmatch(name) or has_forbidden_text(name)
    return any(parts) and not refused and all(f" {part} " in words for part in parts if part)


@lru_cache(maxsize=_REMEMBERED)
def stems(text: str) -> tuple[str, ...]:
    """Returns the stems of a text's words in order, without stop words. The lexical index has the same stems."""
    return tuple(analyzer().analyze(clean_text(text)))


def content_overlap(claim: str, passage: str) -> float:
    """Returns the share of the claim's content words that the passage contains, 0 to 1."""
    asked = _content_stems(claim)
    return len(asked & _content_stems(passage)) / len(asked) if asked else 0.0


_SAYING = frozenset(stems("say write report argue tell state note add warn think deny"))
_ATTRIBUTION = re.compile(
    r"(?i)^(?:according to [^,]{2,120},|[^.;:]{2,160}?\b(?:say|write|report|argue|state|note|add|warn|think)s?"
    r"(?: that)?) "
)
_FEWEST_WORDS = 4  # content words of a claim after its attribution


def best_evidence(claim: str, passage: str) -> str:
    """Returns the passage's sentence with the most content words of the claim. Adds a second sentence if it has a
    number of the claim, or two words of the claim, that the first sentence lacks. Words that only name the speaker
    ('Una Roe, chair of the Kelby Traders, says that') do not count. The sentences are in the passage's order.
    `SENTENCE_GAP` separates them."""
    said = _content_stems(_ATTRIBUTION.sub("", claim))
    sentences, asked = (
        split_sentences(passage),
        (said if len(said) >= _FEWEST_WORDS else _content_stems(claim)) - _SAYING,
    )
    if not sentences:
        return ""
    # A signature or a heading may hold the claim's words, but says nothing.
    words = [frozenset() if is_no_prose(s) else asked & _content_stems(s) for s in sentences]
    words = words if any(words) else [asked & _content_stems(s) for s in sentences]  # a table or list has no prose
    best = max(range(len(words)), key=lambda i: len(words[i]))
    added = [w - words[best] for w in words]
    numbers = _content_stems(" ".join(w for w in claim.split() if any(map(str.isdigit, w))))
    more = max(range(len(added)), key=lambda i: (len(added[i] & numbers), len(added[i])))
    if len(added[more]) < 2 and not added[more] & numbers:
        return sentences[best]
    first, last = sorted((best, more))
    return (" " if last == first + 1 else SENTENCE_GAP).join((sentences[first], sentences[last]))


def carrying_sentence(claim: str, evidence: str, passage: str) -> str:
    """Returns the sentence of `best_evidence` with the most content words of the claim, without the added one."""
    parts = [sentence for sentence in split_sentences(passage) if sentence in evidence]
    shared = {part: len(_content_stems(claim) & _content_stems(part)) for part in parts}
    return max(shared, key=shared.__getitem__) if any(shared.values()) else evidence


def is_denied(claim: str, passages: str) -> bool:
    """Whether the passages say the opposite of a clause of the claim: every similar clause is negated where the claim
    affirms, or affirmed where the claim negates. Usually such a claim is only a rewording. So the result is a reason to
    check twice, but no hint for a model."""
    for words, negated in _clauses(claim):
        agree = [
            same == negated
            for other, same in _clauses(passages)
            if (common := len(words & other)) >= _SHARED_WORDS
            and common / min(len(words), len(other)) >= _CLAUSE_OVERLAP
        ]
        if agree and not any(agree):
            return True
    return False


@lru_cache(maxsize=_DOCUMENTS)
def _clauses(text: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """Returns each clause's content words, and whether a word negates the clause."""
    text = re.sub(r"n't\b", " not", text.replace("’", "'").lower()).replace("no one", "nobody")
    found = []
    for clause in _CLAUSE_END.split(_INSTEAD.sub(", not", text.replace("not only", ""))):
        words = re.findall(r"[a-z0-9']+", clause)
        kept = _content_stems(" ".join(w for w in words if w not in _NEGATORS))
        if kept:
            found.append((kept, bool(_NEGATORS.intersection(words))))
    return tuple(found)


def _content_stems(text: str) -> frozenset[str]:
    words = (w for w in text.split() if w.lower() not in LIGHT_WORDS)
    return frozenset(stems(" ".join(_SHORT_TITLES.get(w.lower().rstrip("."), w) for w in words)))


# Facts of a claim that the document can confirm: numbers, months and names

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DOTTED = re.compile(r"\b(?:[A-Z]\.){2,}|\b(?:[A-Z]\.)+[A-Z]\b")
_ABBREVIATED = (
    "councillor|cllr doctor|dr professor|prof saint|st senator|sen governor|gov general|gen reverend|rev "
    "honourable|hon captain|capt sergeant|sgt lieutenant|lt colonel|col representative|rep president|pres"
)
_SHORT_TITLES = dict(pair.split("|") for pair in _ABBREVIATED.split())
_HONORIFIC = re.compile(rf"\b(Mrs?|Ms|{'|'.join(map(str.title, _SHORT_TITLES.values()))})\.(?= [A-Z])")
_OPENING = re.compile(r"(?:^|[.!?:;][\"')\]]*\s)[-*\"'(\[\s]*$|(?:^|\s)[\"']$")
_LOOK_BACK = 8  # characters before a word that tell whether a sentence opens with it
_LINKS = frozenset("of the and de la le van von der den di du al for in on a an to".split())
_TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir dame lord lady president minister senator judge justice king queen pope "
    "saint chancellor".split()
)
_PEOPLE = re.compile(r"(?:n|an|ian|ean|ese|i|ic|ish|y|e)$")
_IRREGULAR = (
    "spain|spanish poland|polish finland|finnish france|french netherland|dutch|holland denmark|danish wale|welsh"
)
_SAME_NATIONS = [frozenset(names.split("|")) for names in _IRREGULAR.split()]
_CALENDAR = "january february march april may june july august september october november december".split()
_MONTHS = {month[:3]: month for month in _CALENDAR} | {"sept": "september"}
_IN_DIGITS = re.compile(r"\b[12]\d{3}-([01]\d)\b|\b(\d{1,2})[./](\d{1,2})[./][12]\d{3}\b")
_HEADLINE = 0.5  # share of capitalised words above which a text is a headline
_SHORT = 3  # letters of an acronym that is also a word: 'US', 'WHO', 'IT'


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    opens: bool  # first of a sentence or of a quotation

    @property
    def capital(self) -> bool:
        return any(c.isupper() for c in self.text)


class _Facts:
    """The numbers and words of a document, indexed."""

    def __init__(self, text: str) -> None:
        text = plain_text(text)
        self.numbers = number_values([text])
        tokens = _tokens(text)
        own = [t.text for t in tokens if t.text.lower() not in _LINKS]
        numbers = {int(number) for found in _IN_DIGITS.findall(text) for number in found if number}
        self._words = {_folded_word(word) for word in own} | {_CALENDAR[n - 1] for n in numbers if 1 <= n <= 12}
        self._initials = ["".join(text[0].upper() for text in texts) for texts in (own, [t.text for t in tokens])]
        self._capitals = ["".join(text[0] if text[0].isupper() else "." for text in own)]
        self._peoples = {stem for t in tokens if t.text[0].isupper() for stem in _stems(_folded_word(t.text))}

    def lacks(self, name: Sequence[str]) -> list[str]:
        """Returns the words of a name that the document lacks; none if the document has the name's acronym."""
        if len(name) > 1 and "".join(word[0] for word in name).upper() in self._words:
            return []
        return [word for word in name if not self._has(_folded_word(word))]

    def _has(self, word: str) -> bool:
        return word in self._words or self._abbreviates(word) or bool(_stems(word) & self._peoples)

    def _abbreviates(self, name: str) -> bool:
        """Whether words of the document begin with an acronym's letters. Two letters, such as 'EU', need capitals."""
        if not 2 <= len(name) <= 6 or not name.isupper():
            return False
        return any(name in line for line in (self._capitals if len(name) == 2 else self._capitals + self._initials))


_facts = lru_cache(maxsize=64)(_Facts)


def missing_facts(claim: str, document: str) -> list[str]:
    """Returns the claim's numbers, names and months that the document lacks. Spellings may differ: 'two thirds' matches
    '66 %', and '3 May' matches '2019-05-03'. There is no arithmetic: 'a majority' does not match '60 %'."""
    claim, known = plain_text(claim), _facts(document)
    missing = [n.text for n in find_numbers(claim) if not n.vague and not is_stated(n, known.numbers)]
    return list(dict.fromkeys([*missing, *(" ".join(words) for name in _names(claim) if (words := known.lacks(name)))]))


def _names(text: str) -> Iterator[list[str]]:
    """Yields the words of each name, without titles. A name consists of consecutive capitalised words, perhaps with
    'of' or 'the' between them."""
    tokens = _tokens(text)
    headline = sum(t.capital for t in tokens) > _HEADLINE * len(tokens)
    name: list[str] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):  # there may be no tokens
        word = token.text.lower()
        if token.opens or word not in _LINKS:
            if name and (token.opens or not token.capital):
                yield name
                name = []
            if _is_name_word(token, after, headline) and word not in _TITLES:
                name.append(token.text)
    yield name


def _is_name_word(token: _Token, after: _Token | None, headline: bool) -> bool:
    """Whether a word belongs to a name. A capital at the start of a sentence is not enough."""
    if not token.capital or len(token.text) == 1 or token.text.lower() in _LINKS or re.match("I'|OK$", token.text):
        return False
    if not token.opens or headline:
        return not headline or is_name(token.text)
    before_a_name = (
        after is not None
        and after.text[0].isupper()
        and not after.opens
        and after.start == token.start + len(token.text) + 1
    )
    return is_name(token.text) or (before_a_name and lexicon_tag(token.text).startswith("NNP"))


def _stems(name: str) -> set[str]:
    """Returns a name and its stems without endings of countries and peoples: 'ital' for Italy and Italian."""
    irregular = {other for names in _SAME_NATIONS if name in names for other in names}
    return irregular | {
        s for s in (name, *(name[:-n] for n in (1, 2, 3) if _PEOPLE.fullmatch(name[-n:]))) if len(s) > _SHORT
    }


def _tokens(text: str) -> list[_Token]:
    text = _DOTTED.sub(lambda m: m.group().replace(".", ""), _HONORIFIC.sub(r"\1", text))
    before = ((m, max(0, m.start() - _LOOK_BACK)) for m in _WORD.finditer(text))
    opens = ((m, _OPENING.search("x" * (start > 0) + text[start : m.start()])) for m, start in before)
    return [_Token(m.group(), m.start(), opening is not None) for m, opening in opens]


def _folded_word(word: str) -> str:
    """Returns a word without accents, possessive and plural, in lower case unless it is a short acronym. Writes months
    in full, and titles in their short form."""
    word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word = re.sub(r"'s?$", "", word)
    if len(word) <= _SHORT and word.isupper():
        return word
    word = word.casefold()
    word = _MONTHS.get(word, word[:-1] if len(word) > _SHORT and re.search(r"[^su]s$", word) else word)
    return _SHORT_TITLES.get(word, word)
