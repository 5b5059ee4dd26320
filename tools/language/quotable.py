"""Finds the quotable parts of a passage: sentences that are understandable alone or with the previous sentence. Drops
an opening 'But' or 'And', as an editor would: '[S]chools lose more than they gain.' References, page numbers and
addresses are allowed. Words of over a hundred characters are not."""

import re
from dataclasses import dataclass
from itertools import takewhile

from tools.language.demands import ticked_answers
from tools.language.grounding import verbatim
from tools.language.lexicon import bare_word, finite_verb, pos_tag
from tools.language.person_names import pattern
from tools.language.reported_speech import INTERVIEWER, is_foil, speaker_of
from tools.language.sentences import is_no_prose, split_sentences, without_list_mark
from tools.passages import Passage

_SHORTEST_ALONE, _LONGEST_ALONE = 7, 45  # least and most words of a sentence that can state a side

# Openings of a sentence that depends on the previous sentence.
_LEANING = re.compile(
    r"""^["'“‘(]?(?:
    this|that(?!\s+(?:is\s+why\s+)?\w+\s+(?:who|which))|these|those(?!\s+who)|it|its|they|their|he|she|his|her|
    (?:in|for|with|without|by|under|given|because\s+of|due\s+to|if|when|while|even(?:\s+if)?|to\s+do|doing|by\s+doing|
    all(?:\s+of)?|(?:one|some|many|most)\s+of)\s+(?:this|that|these|those(?!\s+who)|it|they|them|such|so)|
    here(?!\s+and\s+there)|there(?:fore|by)|such(?!\s+(?:\w+\s+){1,2}as\b)|one\s+such|even\s+(?:so|then)|
    however|but|and|or|nor|so|yet|thus|hence|then|also|moreover|furthermore|besides|additionally|similarly|likewise|
    indeed|instead|otherwise|nevertheless|nonetheless|meanwhile|consequently|accordingly|finally|lastly|conversely|
    (?:first|second|third)(?:ly|,)|(?:still|rather|well|yes|no|perhaps),|next|again(?!\s+and\s+again)|overall|
    in\s+(?:addition|contrast|conclusion|short|turn|fact|other\s+words|either\s+case|both\s+cases)|
    (?:in|for)\s+the\s+(?:same|first|second|latter|former)|on\s+the\s+(?:other|contrary|one\s+hand)|
    as\s+(?:a\s+result|such|well|mentioned|noted|above)|for\s+(?:example|instance)|at\s+the\s+same\s+time|after\s+all|
    of\s+course|not\s+only|what\s+is\s+more|another|the\s+(?:same|others?|latter|former|above|following)|
    both(?=\s+(?:of\s+)?(?:these|those|are|were|have))|neither(?!.*\bnor\b)|either(?!.*\bor\b)|
    them|him|who|which|whose|whereas|whereby|where(?![^,]+,)|e\.g|i\.e|see|(?:figure|table|fig\.?)\s+\d+|
    (?:sources?|photos?|images?)(?:\s*:|\s+(?:by|credit))
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
# An early pronoun without an antecedent: 'they' and 'its' after function words, 'she' unless a person is named. An 'it'
# that prepares a clause ('make it harder to …') is no pronoun.
_EARLY_PRONOUN = re.compile(
    r"""^(?:
    (?:(?:about|according|after|all|although|and|as|at|because|before|by|despite|during|even|for|from|if|in|into|like|most|of|on|once|only|
    over|since|so|some|through|to|today|under|unless|until|when|while|with|within|without|yesterday|yet)\s+){1,3}(?:they|them|their|its)|
    (?:\S+\s+){1,3}(?:it(?!\s+(?:\S+\s+){1,3}(?:to|that|for)\b)|this|these)|
    (?!(?:the|an?|each|every|no|any|one)\s)(?:\S+\s+){1,3}(?:he|she|him|his|her)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_POINTS_AWAY = re.compile(
    r"\b(?:(?:the|this|that|these|those)\s+(?:above|aforementioned|motion|proposition|opposition|opponent|policy|proposal|measure|resolution|"
    r"argument|point|approach|issue|article|essay|author|book|paper|idea|case|claim)s?|as\s+(?:stated|discussed|mentioned|noted|argued|seen)|"
    r"above|aforesaid|former|latter|do(?:es|ing)?\s+so|(?:your|you|my|me|mine|our|us)\s+(?:argument|opponent|point|case))\b",
    re.IGNORECASE,
)
_DEMONSTRATIVE = re.compile(
    r"\b(?:(?:this|these|those)\s+(?!as\b|who\b|that\b)|such\s+(?!as\b|(?:\w+\s+){1,2}as\b))\w+", re.IGNORECASE
)
_THAT = re.compile(
    r"\bthat (?:problem|way|case|reason|point|idea|argument|kind|sort|time|moment|policy|system|country|amount|level|"
    r"sense|fact|view|claim|regard|respect|end|goal|day|period|group|state|law|rule|approach|question|issue|position|"
    r"choice|vast|same|much|many)\b",
    re.IGNORECASE,
)
_POINTING = (_POINTS_AWAY, _DEMONSTRATIVE, _THAT)
_ORDINAL = re.compile(
    r"^(?:The|A|Our|One|Another) (?:first|second|third|fourth|fifth|next|final|last|further|other|main|key) "
    r"(?:benefit|reason|argument|point|problem|advantage|issue|factor|question|concern|aspect|example|way|thing|step)\b|"
    r"^By (?:comparison|contrast)\b|\bthe other(?: one)?[.!]$|"
    r"\b(?:of|for|with|from|by|to|at|on|about|against|behind) that\b(?! of\b)|"
    r"^(?!.*\b\w+s\b.*\bof them\b).*\b(?:none|some|any|all|both|most|many|few|each|one|neither|either) of them\b",
    re.IGNORECASE,
)
_MIDWAY = re.compile(
    r"\b(?:however|therefore|moreover|furthermore|thus|hence|nevertheless|nonetheless|likewise|previously mentioned)\b|"
    r"^(?:\S+ ){1,4}(?:also|too|though)\b|,? (?:too|as well|though|either|instead)[.!]$",
    re.IGNORECASE,
)
# An 'it' or 'there' that only prepares a clause refers to nothing.
_PREPARES_A_CLAUSE = re.compile(
    r"^(?:it(?: is|'s|’s| was| would be| may be| seems)(?: \S+){0,7} (?:that|to|for|when|if|how|whether|who)\b|"
    r"there\b)",
    re.I,
)
_OPENING = 6  # first words of a sentence, where a pronoun points back
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|me|my|mine|we've|you|your|you're)\b")
_LONGEST_WORD = 100  # characters
_REFERENCE = re.compile(r"\[\d+\]|\[[a-z]{1,4}\]|https?://|www\.|\bet al\b|\bibid\b|\bpp?\.\s*\d", re.IGNORECASE)


def is_self_contained(sentence: str) -> bool:
    """Whether a sentence is understandable alone and a general statement. Decides by form. Refuses fragments,
    questions, texts of the page itself ('Read more'), and sentences that depend on other sentences or mention their
    writer. A sentence that states a side must pass; a quotation need not."""
    short = len(sentence.split()) < _SHORTEST_ALONE
    if short or is_no_prose(sentence) or not _has_quotable_form(sentence, _LONGEST_ALONE):
        return False
    refused = (_LEANING, *_POINTING, _MIDWAY, _REFERENCE, _FIRST_PERSON)
    return not needs_context(sentence) and not any(p.search(sentence) for p in refused)


def needs_context(sentence: str) -> bool:
    """Whether a sentence depends on the previous sentence, because it opens with a connective or pronoun, or points
    back. A late 'these' usually refers to the sentence itself."""
    opening = " ".join(sentence.split()[:_OPENING])
    leaning = _LEANING.match(sentence) and not _PREPARES_A_CLAUSE.match(sentence)
    pointing = any(p.search(opening) for p in _POINTING)
    return bool(leaning or pointing or _EARLY_PRONOUN.match(sentence) or _ORDINAL.search(sentence))


def is_prose(sentence: str) -> bool:
    """Whether brackets and quotation marks are balanced, and the words form a sentence instead of a list."""
    pairs = all(sentence.count(a) == sentence.count(b) for a, b in ("()", "[]", "“”"))
    balanced = pairs and sentence.count('"') % 2 == 0
    # Headings, lists of names and tables have too many capitals or too few plain words.
    inner = [w for w in sentence.split()[1:] if w[0].isalpha()]
    plain = len(inner) >= _SHORTEST_ALONE - 2 and sum(w[0].isupper() for w in inner) <= 0.4 * len(inner)
    # Longer words are data, broken text or an attack on the page; nearly all names of places are shorter.
    return balanced and plain and all(len(w) <= _LONGEST_WORD for w in sentence.split())


SHORTEST_QUOTE, LONGEST_QUOTE, LONGEST_PAIR = 6, 60, 75  # words: least and most of one sentence, most of two
_SHORTEST_STATEMENT = 3  # words, such as 'Keep the crane.'
_VERB_LIKE_NOUN = re.compile(r"^(?:I|We|Never) \w|.\s(?:costs?|needs?|helps?|hurts?|harms?|works?|matters?)\s")
_NO_STATEMENT = re.compile(  # marks of a heading, a question or a part; words that refer to another sentence
    r"^(?:why|what|how|who|when|where)\b|[?:;,…]$|:\s|[\"“”()\[\]]|\b(?:its?|they|them|their|he|she|him|his|her|this|"
    r"these|those|that|which|who|whose|there|so|such|both|first|second|third|fourth|too[.!])(?!\w)",
    re.IGNORECASE,
)

# Connectives without a meaning of their own. 'otherwise', 'nor', 'but for', 'so far' and 'yet to' have a meaning.
_CONNECTIVE = re.compile(
    r"^(?:(?:but|and|so|yet|also|however|moreover|furthermore|besides|additionally|similarly|likewise|therefore|thus|"
    r"hence|consequently|accordingly|nevertheless|nonetheless|still|indeed|in fact|of course|after all|finally|lastly|"
    r"overall|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|then|meanwhile|in addition|in short|in other words|"
    r"in conclusion|in turn|as a result|by contrast|in contrast|on the contrary|on the other hand|on the one hand|"
    r"at the same time|for example|for instance|what is more|even so|well|yes|no|again)(?:,\s+|:\s+)|"
    r"(?:but|and)\s+(?!for\b|so\b|yet\b|still\b|not\b|also\b)(?=\w)|"
    r"(?:so|yet)\s+(?=(?:I|we|the|a|an|there is|there are|it is)\b))",
    re.IGNORECASE,
)
_REPLY = re.compile(r".*,|[\"'“‘]*(?:yes|no|well)[.!]", re.I)  # an address; a reply to a question that is not quoted
_OPENS = re.compile(r"^[\"'“‘(\[]*[A-Z0-9£$€]")
_ENDS = re.compile(r"[.!][\"'”’)\]]*(?:\s*(?:\[[\d,\s–-]+\]|\([^()]{0,60}\)))*$")
_ASKS = re.compile(rf"{INTERVIEWER}|Presenter")  # a speaker whose questions are no evidence
_FURNITURE = re.compile(
    r"^(?:(?:read more|click|sign up|subscribe|share (?:this|on|via)|copyright|"
    r"all rights reserved|see also|photo by|(?:agenda )?item \d+|apologies (?:for absence )?(?:was|were|had))\b|"
    r"(?:dear|hi|hello|thanks?|thank you|regards|yours|sincerely)\b[^.]{0,40}[,.!]?$)|©|"
    r"\bcookies?\b.{0,40}\b(?:accept|policy)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuotablePart:
    """One or two sentences of a passage. text: the passage's words, white space folded. shown: the text with changes in
    square brackets. positions: of the sentences. clear: understandable without the passage."""

    passage: Passage
    text: str
    shown: str
    positions: tuple[int, ...]
    clear: bool = True


def quotable_parts(passage: Passage) -> list[QuotablePart]:
    """Returns the quotable parts of a passage in order. `clear` is False if a person who reads the part can only guess
    its meaning. Tables have no quotable parts."""
    sentences = [] if _ASKS.search(passage.speaker) or passage.form == "table" else split_sentences(passage.text)
    found: list[QuotablePart] = []
    before = -1  # the position of the last sentence of prose
    for position, sentence in enumerate(sentences):
        if is_no_prose(sentence):
            before = -1
            continue
        foil = is_foil(sentence, "".join(sentences[position + 1 : position + 2]), passage.text)
        if not foil and (unit := _quotable_part(passage, sentences, position, before)):
            found.append(unit)
        before = position
    return found


def short_statements(passage: Passage) -> list[QuotablePart]:
    """Returns the parts that `quotable_parts` refuses for their form, but that say something alone: 'Keep the crane.',
    and 'I would keep the crane' without a full stop, as a person's whole turn or a table's row."""
    prose = passage.form == "prose" and not _ASKS.search(passage.speaker)
    sentences = split_sentences(passage.text) if prose else []
    told = {i for part in quotable_parts(passage) for i in part.positions}
    own = bool(passage.speaker) or "#" in passage.key  # of a row
    casual = own and (len(sentences) == 1 or not any(map(_ENDS.search, sentences)))
    new = [(i, without_list_mark(text)) for i, text in enumerate(sentences) if i not in told]
    stated = [(i, text) for i, text in new if _states(text, casual)]
    fair = [(i, t) for i, t in stated if not is_foil(t, "".join(sentences[i + 1 : i + 2]), passage.text)]
    return [QuotablePart(passage, text, with_bracketed_capital(text), (i,)) for i, text in fair]


def _states(text: str, casual: bool) -> bool:
    words, ended = text.split(), _ENDS.search(text) and _OPENS.match(text)
    longest = LONGEST_QUOTE if casual else SHORTEST_QUOTE - 1 if ended else 0
    refused = text.isupper() or _FURNITURE.search(text) or _NO_STATEMENT.search(text) or needs_context(text)
    if refused or not _SHORTEST_STATEMENT <= len(words) <= longest or max(map(len, words)) > _LONGEST_WORD:
        return False
    tag = pos_tag(words[0])
    command = tag in ("VB", "VBP") or (tag == "NN" and bare_word(words[1]) in ("the", "our", "a", "all"))
    return command or finite_verb(words) is not None or bool(_VERB_LIKE_NOUN.search(text))


def _quotable_part(passage: Passage, sentences: list[str], position: int, before: int) -> QuotablePart | None:
    own = without_list_mark(sentences[position])
    whole = own == sentences[position] or finite_verb(own.split()) is not None  # a list item may be half a sentence
    formed = whole and _has_quotable_form(own, LONGEST_QUOTE)
    text = _without_connective(own)
    brief = len(sentences[0].split()) < SHORTEST_QUOTE and not _REPLY.fullmatch(sentences[0])
    ticks = len([*takewhile(ticked_answers, sentences)])
    if position < ticks < len(sentences) or not (formed or 0 < ticks == position):
        return None  # the reason below, however short, is quoted together with what a person ticked
    if position and position == before + 1 == (leading := ticks or int(brief)):  # 'Close it. My children …'
        both = " ".join([*map(without_list_mark, sentences[:leading]), own])
        if _has_quotable_form(both, LONGEST_PAIR) and verbatim(both, passage.text):
            return QuotablePart(passage, both, both, tuple(range(position + 1)))
    if not formed:
        return None
    if not needs_context(text):
        return QuotablePart(passage, text, with_bracketed_capital(text), (position,))
    above = without_list_mark(sentences[before]) if before == position - 1 and before >= 0 else ""
    if own == sentences[position] and (pair := _pair_with_sentence_before(passage, above, own)):
        return QuotablePart(passage, pair, with_bracketed_capital(pair), (before, position))
    return QuotablePart(passage, own, own, (position,), clear=False)


def _has_quotable_form(sentence: str, longest: int) -> bool:
    words = sentence.split()
    if not SHORTEST_QUOTE <= len(words) <= longest or not _ENDS.search(sentence) or not _OPENS.match(sentence):
        return False
    return is_prose(sentence) and not _FURNITURE.search(sentence)


def _pair_with_sentence_before(passage: Passage, leading: str, sentence: str) -> str:
    """Returns both sentences without a connective; '' if the pair is no clearer, or if two people say the sentences."""
    first = _without_connective(leading)
    if not _has_quotable_form(leading, LONGEST_QUOTE) or needs_context(first):
        return ""
    pair = f"{leading} {sentence}"
    fits = len(pair.split()) <= LONGEST_PAIR and verbatim(pair, passage.text)
    fits = fits and speaker_of(passage, leading) == speaker_of(passage, sentence)
    return pair[len(leading) - len(first) :] if fits else ""


def _without_connective(sentence: str) -> str:
    match = _CONNECTIVE.match(sentence)
    rest = sentence[match.end() :] if match else ""
    return rest if len(rest.split()) >= SHORTEST_QUOTE else sentence


def with_bracketed_capital(text: str) -> str:
    """Returns the text with a bracketed capital: '[S]chools lose …' for 'schools lose …'."""
    return f"[{text[0].upper()}]{text[1:]}" if text[:1].islower() else text


def names_gap(sentence: str) -> bool:
    """Whether the sentence says that evidence is missing: 'Nobody has counted the cars.' Decides by form, in English. A
    question says nothing, and a person's own doubt ('I do not know what they see in it') is no gap."""
    found = pattern("GAP").finditer(sentence)
    return not sentence.endswith("?") and any(not pattern("DOUBTER").search(sentence[: m.start()]) for m in found)


def gaps_in(passage: Passage) -> list[QuotablePart]:
    """Returns the quotable parts whose last sentence names a gap in the evidence."""
    if not pattern("GAP").search(" ".join(passage.text.split())):  # cutting into sentences is slow
        return []
    parts = [*quotable_parts(passage), *short_statements(passage)]
    return [part for part in parts if names_gap(split_sentences(part.text)[-1])]
