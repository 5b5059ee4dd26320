"""What kind of question a text is: what its answers are called, and which of several it asks to choose from.

Nothing is made of the words: the question is the statement that passages are judged against, as it was typed
(docs/decisions/0016). The kind only tells which words answer it.
"""

import re
from dataclasses import dataclass
from typing import Literal

from tools.language.lexicon import AUXILIARIES, core_of, finite_verb, is_noun_by_ending, is_word, lookup, tag_of

Kind = Literal["polar", "claim", "topic", "choice", "open", "fact", "none"]
"""'polar' asks for yes or no; 'claim' states something; 'topic' only names it, or asks for what speaks for and against
it; 'choice' names its alternatives; 'open' has answers that people weigh and 'fact' one to look up; 'none' is neither a
question nor a claim."""
ANSWERS: dict[str, tuple[str, str]] = {
    "polar": ("Yes", "No"),
    "claim": ("Agree", "Disagree"),
    "topic": ("For", "Against"),
}
"""The two words that answer a question of a kind, the affirming one first."""
MOST_OPTIONS = 6
_LONGEST_OPTION = 9  # words

_SENTENCE = re.compile(r"(?<=[.!?])(?<!\bvs\.)[\"'”’)]*\s+(?=\S)", re.I)
_WH = re.compile(
    r"(?:(?:so|but|and|ok|okay|well|like|honestly|hi|hey|also),? )*"
    r"(?:what|what's|whats|which|who|who's|whom|whose|why|how|how's|when|where|wat|y)\b",
    re.I,
)
_POLITE = re.compile(
    r"^(?:(?:so|but|and|ok|okay|well|please|pls|honestly|hi|hey|hello|also|now|like|then|um|er|sorry|seriously|"
    r"quick question|genuine question|serious question|question|in your (?:opinion|view)|in general|these days|today|"
    r"nowadays|overall|ultimately)[,:!]? )+",
    re.I,
)
_ANY = re.compile(
    r"(?:any(?:one|body)? (?:point|use|sense|reason|good)|ever (?:ok|right|wrong)|true that|worth)\b", re.I
)
_TAG = re.compile(  # what only asks what one thinks of the words before it
    r"(?:,|–|-|\.|\?)?\s*(?:right|correct|true(?: or (?:not|false))?|agreed?|am i wrong|or (?:not|no|what)|no|yes|eh|"
    r"(?:is|are|was|were|do|does|did|should|would|could|can|will|has|have)(?:n't|nt| not)? "
    r"(?:it|they|we|he|she|there|you|i)|good idea|thoughts|what do (?:you|u|people) think|any thoughts|discuss|"
    r"do (?:you|they|we) agree|change my mind|agree or disagree|yes or no|yay or nay|for or against|"
    r"fair or (?:not|unfair))"
    r"\W*$",
    re.I,
)
_BOTH = re.compile(
    r"\b(?:pros? (?:and|&|or|n|vs\.?|/) cons?|both sides|(?:for|pro) (?:and|or|&|vs\.?) (?:against|con(?:tra)?)|"
    r"arguments? (?:for|against|in favou?r|on|about)|reasons? (?:for|against|to|not to|why)|"
    r"(?:the )?case (?:for|against)|(?:advantages|disadvantages|benefits|upsides?|downsides?|drawbacks|dangers|harms|"
    r"problems?|issues?|merits?|trouble|risks?|costs?) (?:of|with|to|from)|what(?:'s| is|s) (?:so )?(?:bad|good|great) "
    r"about|wrong (?:with|about)|what(?:'s| is|s) the (?:point|problem|trouble|use|harm|good)\b|"
    r"the good and bad|debate (?:on|about|over)|"
    r"speaks (?:for|against)|convince me|change my mind|defend|justify|the perspective on)\b",
    re.I,
)
_LEADING = re.compile(  # a question for the reasons of what is at issue
    r"why (?:should|must|ought|shouldn't|shouldnt|do (?:we|you|they) (?:still )?(?:need|have to|let|allow)|"
    r"(?:[\w'’-]+ )*?\b(?:acceptable|bad|beneficial|dangerous|"
    r"effective|ethical|fair|good|bad|harmful|healthy|illegal|immoral|ineffective|just|justified|moral|necessary|right|"
    r"safe|unethical|unfair|unhealthy|unjust|unnecessary|unsafe|useful|useless|wrong|better|worse|great|terrible|"
    r"detrimental|damaging|sustainable|unsustainable|irresponsible|unacceptable|inhumane|cruel|evil|overrated|"
    r"underrated|legal|a mistake|a threat|important|essential)\b)",
    re.I,
)
_WEIGHING = re.compile(
    r"\b(?:best|better|worst|should|ought|ideal|right|wrong|fair|good|bad|most (?:effective|important|just)|too|"
    r"effective|responsible|to blame|justif\w+|solve|fix|improve|reduce|make|deal with|handle|address|tackle|prevent|"
    r"think|say|arguments?|case (?:for|against)|pros|cons|advantages|drawbacks|benefits|harms|risks|worth|balance|"
    r"matter|why|can|could|would|we|us|you|u|one)\b",
    re.I,
)
_FACT = re.compile(
    r"(?:when|where)\b.*"
    r"|who(?:'s)? (?:is|was|were|are|did|invented|wrote|won|discovered|found|founded|built|made|painted|first|became|"
    r"runs|owns|leads|rules)\b.*"
    r"|how (?:many|much|old|tall|long|far|high|fast|big|large|deep|heavy|hot|cold|often)\b.*"
    r"|how (?:is|are|was|were) .+(?:ed|made|built|grown|born|written)\W*"
    r"|how (?:do|does|did) .+ (?:works?|begin|start|form|happen|spread)\W*"
    r"|(?:what|which) (?:\w+ )?(?:do|does|did|year|date|day|country|city|language)\b.*"
    r"|what (?:is|was) (?:the )?[\w-]+ of (?:the )?(?-i:[A-Z]).*"
    r"|what (?:is|was|are|were) (?!the\b)(?:an? )?[\w-]+(?: [\w-]+){0,2}\W*"
    r"|what (?:causes|caused|happens|happened)\b.*",
    re.I,
)
_SHOW = re.compile(  # a request to be shown something
    r"(?:(?:can|could|would) (?:you|u) (?:please )?|please |pls )?(?:tell (?:me|us)|explain|describe|discuss|compare|"
    r"show (?:me|us)|give (?:me|us)|outline|present|list|help (?:me|us) (?:to )?(?:understand|see)|"
    r"i (?:want|would like) to know|steelman)\b:?(?: (?:to me|like .*? why))? ",
    re.I,
)
_INSTRUCTS = re.compile(
    r"(?:please |can you |could you )*"
    r"(?:write|translate|compose|draw|generate|rewrite|calculate|convert|sing|summari[sz]e|tell me a)\b",
    re.I,
)
_HEADING = re.compile(
    rf"^[^?]{{1,80}}?\s*(?::|–|—| -) (?=(?:what|which|who|why|how|{'|'.join(sorted(AUXILIARIES))})\b)", re.I
)
_GREETS = re.compile(
    r"(?:hi|hello|hey|yo|thanks?|thank you|cheers|bye|good (?:morning|afternoon|evening|night|day)|okay|test|lol)"
    r"(?: (?:there|you|all|everyone|again))?\W*",
    re.I,
)
_TYPED = {"ca", "wo", "ai", "r", "wud", "cud", "shud", "shld", "shuld", "shoud"}  # of "can't" and "won't", and in haste
_POLICIES = frozenset("ban end stop tax cap limit cut raise fund scrap axe close open start let abolish lower".split())
_AFTER_COMMA = re.compile(r"(?:[,:–—]| - )([^,:–—]*\b(?:or|vs\.?|versus)\b.*)", re.I)  # 'Which is worse, tea or coffee'
_EITHER = re.compile(r",? (?:or|vs\.?|versus)(?: (?:rather|just))? ", re.I)
_THINGS = "it|that|this|they|those|these|we|i|u|you|he|she|there"
_SECOND = re.compile(rf",? or (?:{'|'.join(sorted(AUXILIARIES))}|r) (?:{_THINGS})\b[^?]*\??$", re.I)
_POLES = re.compile(r"\s*[,–:-]?\s*(?:\b(?:yes|yay|yea|yeah|aye) )?or (?:not|no|nay|what|nah|is it not)\b.*$", re.I)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was typed, with a capital and a mark at its end; `options` are the names that a choice has."""

    kind: Kind
    text: str
    options: tuple[str, ...] = ()


def read_question(typed: str) -> Question:
    """The kind of a question, a claim or a bare topic; never raises for any text.

    Raises ModelError when TextBlob's lexicon is not installed.
    """
    text = " ".join(typed.split())
    if _is_nothing(text):
        return Question("none", text)
    parts = [p for p in _SENTENCE.split(text) if core_of(p)]
    asked, verdict = _asked(parts)
    kind, options = _kind(asked, text, verdict)
    if options and (second := _SECOND.search(text)):  # the other clause only asks whether the first is wrong
        kind, options, text = "polar", (), f"{text[: second.start()]}?"
    return Question(kind, _marked(text, asking=kind in ("polar", "choice", "open", "fact")), options)


def _asked(parts: list[str]) -> tuple[str, bool]:
    """The sentence that asks: the last with a question mark, or else the first. Whether more is only asked than what
    one thinks of it ('Thoughts?')."""
    verdict = False
    while len(parts) > 1 and _TAG.fullmatch(parts[-1]):
        parts, verdict = parts[:-1], True
    if verdict:
        return parts[-1], True
    questions = [i for i, p in enumerate(parts) if p.endswith("?")]
    ending = _POLITE.sub("", parts[-1])
    last = questions[-1] if questions else -1 if _WH.match(ending) or _inverted(ending.split()[0]) else 0
    if last > 0 and re.match(r"or\b", parts[last], re.I):
        return f"{parts[last - 1].rstrip(' ?')} {parts[last]}", False
    return parts[last], False


def _kind(asked: str, text: str, verdict: bool) -> tuple[Kind, tuple[str, ...]]:
    plain = _POLITE.sub("", _HEADING.sub("", asked)).rstrip(" ?.!")
    asks = asked.endswith("?")
    if _BOTH.search(text) or re.match(r"(?:what|how) about\b", plain, re.I):
        return "topic", ()
    if wanted := _SHOW.match(plain):
        plain = plain[wanted.end() :]
        if not _WH.match(plain) and not re.match(r"whether\b", plain):
            return "topic", ()
    if re.match(r"why (?!not\b)", plain, re.I) and not _inverted(plain.split()[1]) and not _LEADING.match(plain):
        return ("open" if wanted else "topic"), ()
    if _WH.match(plain):
        named = _AFTER_COMMA.search(plain)
        if options := _listed(named[1]) if named else ():
            return "choice", options
        if _LEADING.match(plain):
            return "claim", ()
        return ("fact" if _FACT.fullmatch(plain) and not _WEIGHING.search(plain) else "open"), ()
    words = plain.split() or asked.split()
    opens = _inverted(words[0]) or bool(_ANY.match(plain))
    untailed = _TAG.sub("", plain) if not opens else plain
    if _POLES.search(plain):
        return ("polar" if opens or asks or finite_verb(_POLES.sub("", plain).split()) is None else "claim"), ()
    if (options := _options(plain, opens)) and (opens or asks or _names_things(plain)):
        return "choice", options
    if opens:
        return "polar", ()
    if (verdict or untailed != plain) and len(untailed.split()) > 2:
        return ("claim" if finite_verb(untailed.split()) is not None else "topic"), ()
    if asks:
        return ("polar" if finite_verb(words) is not None else "topic"), ()
    orders = len(words) > 1 and (tag_of(words[0]) in ("VB", "VBP") or core_of(words[0]) in _POLICIES)
    return ("claim" if orders or finite_verb(words) is not None else "topic"), ()


def _inverted(word: str) -> bool:
    """Whether the word opens a question of yes or no: 'should', "shouldn't", 'isnt'."""
    core = core_of(word)
    negated = core.removesuffix("n't") if core.endswith("n't") else core.removesuffix("nt")
    return bool({core, negated} & (AUXILIARIES | _TYPED))


def _names_things(plain: str) -> bool:
    """'Rent or buy in your thirties': a few words and no clause before the 'or'."""
    left = _EITHER.split(plain)[0].split()
    return len(left) <= _LONGEST_OPTION // 2 and finite_verb(left) is None


def _is_nothing(text: str) -> bool:
    """Whether it is an instruction, a greeting or no English: most small words are unknown, or none names anything."""
    words = [w for w in map(core_of, text.split()) if any(c.isalpha() for c in w)]
    if not words or _GREETS.fullmatch(text) or (_INSTRUCTS.match(text) and not _BOTH.search(text)):
        return True
    small = [w for w in words if w.isalpha()]
    unknown = sum(not lookup(w) and not is_noun_by_ending(w) for w in small)
    if len(small) >= 3 and unknown > 0.6 * len(small):
        return True
    named = any(tag_of(w)[:2] in ("NN", "VB", "JJ") and _is_known(w) for w in words)
    return len(words) < 3 and (not named or (text.endswith("!") and lookup(words[0]) in ("UH", "NN", "")))


def _is_known(word: str) -> bool:
    return is_word(word) or is_word(word.removesuffix("s")) or is_noun_by_ending(word)


def _options(plain: str, opens: bool) -> tuple[str, ...]:
    """What a question names as its alternatives: what stands before 'or' as far as it is like what stands after it."""
    if " - " in plain or ": " in plain:
        *_, body = re.split(r"( - |: )", plain, maxsplit=1)
        if found := _listed(body):
            return found
    parts = _EITHER.split(plain)
    if len(parts) < 2 or len(parts) > MOST_OPTIONS:
        return ()
    *before, last = (p.strip(" ,-–—") for p in parts)
    if not opens:
        last = last.split(", ")[0]
    if "," in last or not last:
        return ()
    if _inverted(last.split()[0]):
        return _distinct([f"{before[0]}{'?' if opens else ''}", f"{last}?"]) if len(parts) == 2 else ()
    head, *listed = before[0].split(", ")
    if listed and not _alike(listed[-1].split()[0], last.split()[0]):
        head, listed = before[0], []
    first = _like(head, last, opens)
    return _distinct([first, *listed, *before[1:], last]) if first else ()


def _like(left: str, right: str, opens: bool) -> str:
    """The end of the words on the left that begins as those on the right do: of 'keep the monarchy' and 'become a
    republic' from the verb on; empty where nothing is alike."""
    words, others = left.split(), right.split()
    if not opens and len(words) <= _LONGEST_OPTION // 2:
        return left
    first = next((w for w in others if tag_of(w) != "RB"), others[0])
    start = next(
        (
            at
            for at in range(len(words) - 1, 0 if opens else -1, -1)
            if _alike(words[at], first) and not (first[:1].isupper() and words[at - 1][:1].isupper())
        ),
        None,
    )
    if start is None:
        last = tag_of(words[-1])
        if last not in ("JJ", "VBN", "VB", "NN", "NNS") or (len(others) > 2 and last[:2] == "NN"):
            return ""
        start = len(words) - 1
    return " ".join(words[start - 1 if start > 1 and tag_of(words[start - 1]) == "RB" else start :])


def _alike(one: str, other: str) -> bool:
    tags = tag_of(one), tag_of(other)
    if core_of(one) in AUXILIARIES or "DT" in tags:
        return core_of(one)[:1] == core_of(other)[:1] and tags[0] == tags[1] == "DT"
    return tags[0] == tags[1] or all(t in ("VB", "VBP", "VBN", "VBD") for t in tags)


def _listed(text: str) -> tuple[str, ...]:
    """'ban them, tax them or leave them alone' one by one."""
    if not re.search(r"\b(?:or|vs\.?|versus)\b", text, re.I):
        return ()
    return _distinct(re.split(r", (?:or )?|,? (?:or|vs\.?|versus) ", text))


def _distinct(names: list[str]) -> tuple[str, ...]:
    plain = [re.sub(r"^(?:either|just|whether) ", "", n.strip(" ,;:.-–—\"'“”"), flags=re.I) for n in names]
    plain = [n[:1].upper() + n[1:] for n in plain if core_of(n)]
    fits = 1 < len(plain) <= MOST_OPTIONS and all(len(n.split()) <= 2 * _LONGEST_OPTION for n in plain)
    return tuple(plain) if fits and len({n.casefold() for n in plain}) == len(plain) else ()


def _marked(text: str, *, asking: bool) -> str:
    text = text[:1].upper() + text[1:]
    if asking and not re.search(r"\?[\"'”’)]*(?: [^?]*)?$", text):
        return text.rstrip(" .,;:") + "?"
    return text
