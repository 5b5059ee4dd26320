"""Forms of English verbs: the regular rules, and a table for the rest."""

import re
from functools import cache, lru_cache

from tools.language.grammar.lexicon import lookup

_IRREGULAR = """
arise arose arisen|awake awoke awoken|bear bore borne|beat beat beaten|become became become|begin began begun
bend bent bent|bet bet bet|bid bid bid|bind bound bound|bite bit bitten|bleed bled bled|blow blew blown
break broke broken|breed bred bred|bring brought brought|build built built|burst burst burst|buy bought bought
cast cast cast|catch caught caught|choose chose chosen|cling clung clung|come came come|cost cost cost
creep crept crept|cut cut cut|deal dealt dealt|dig dug dug|do did done|draw drew drawn|drink drank drunk
drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|feel felt felt|fight fought fought|find found found
flee fled fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|get got got|give gave given|go went gone|grow grew grown|hang hung hung|have had had
hear heard heard|hide hid hidden|hit hit hit|hold held held|hurt hurt hurt|keep kept kept|know knew known
lay laid laid|lead led led|leave left left|lend lent lent|let let let|lie lay lain|light lit lit|lose lost lost
make made made|mean meant meant|meet met met|mislead misled misled|outweigh outweighed outweighed
overcome overcame overcome|pay paid paid|prove proved proven|put put put|quit quit quit|read read read|rid rid rid
ride rode ridden|ring rang rung|rise rose risen|run ran run|say said said|see saw seen|seek sought sought
sell sold sold|send sent sent|set set set|shake shook shaken|shape shaped shaped|shed shed shed|shine shone shone
shoot shot shot|show showed shown|shrink shrank shrunk|shut shut shut|sing sang sung|sink sank sunk|sit sat sat
sleep slept slept|slide slid slid|speak spoke spoken|spend spent spent|split split split|spread spread spread
spring sprang sprung|stand stood stood|steal stole stolen|stick stuck stuck|strike struck struck|strive strove striven
swear swore sworn|sweep swept swept|swim swam swum|swing swung swung|take took taken|teach taught taught
tear tore torn|tell told told|think thought thought|throw threw thrown|undergo underwent undergone
understand understood understood|undertake undertook undertaken|undo undid undone|uphold upheld upheld|upset upset upset
wake woke woken|wear wore worn|weep wept wept|win won won|wind wound wound|withdraw withdrew withdrawn
withhold withheld withheld|withstand withstood withstood|write wrote written
"""
_REMEMBERED = 20_000  # words
_VERB_ENDING = re.compile(r"[a-z]{2,}(?:ise|ize|ify|yse)$")
_DOUBLED = re.compile(r"(?:[^aeiou]|^|qu)[aeiou][bdgklmnprtvz]$")
_STRESSED_END = frozenset(
    "admit commit compel control defer deter equip expel forget incur occur permit prefer refer regret submit transfer "
    "transmit begin forbid upset".split()
)


@cache
def _table() -> dict[str, tuple[str, str]]:
    rows = (row.split() for row in re.split(r"[|\n]", _IRREGULAR) if row.strip())
    return {base: (past, participle) for base, past, participle in rows}


@cache
def _bases() -> dict[str, str]:
    return {form: base for base, forms in _table().items() for form in forms} | {
        "is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "been": "be", "being": "be", "has": "have"
    }  # fmt: skip


def third_person(base: str) -> str:
    """'harm' to 'harms', 'carry' to 'carries', 'have' to 'has'."""
    if base in ("have", "be"):
        return {"have": "has", "be": "is"}[base]
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ies"
    return base + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", base) else "s")


def past(base: str) -> str:
    """'harm' to 'harmed', 'lead' to 'led'."""
    return _table()[base][0] if base in _table() else _regular(base, "ed")


def participle(base: str) -> str:
    """The past participle: 'ban' to 'banned', 'take' to 'taken'."""
    return _table()[base][1] if base in _table() else _regular(base, "ed")


def gerund(base: str) -> str:
    """'ban' to 'banning', 'make' to 'making', 'lie' to 'lying'."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    return (base + base[-1] if _doubles(base) else base) + "ing"


def _doubles(base: str) -> bool:
    one_syllable = len(re.findall(r"[aeiouy]+", base)) == 1
    return bool(_DOUBLED.search(base)) and (one_syllable or base in _STRESSED_END)


def _regular(base: str, ending: str) -> str:
    if base.endswith("e"):
        return base + ending[1:]
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "i" + ending
    return (base + base[-1] if _doubles(base) else base) + ending


@lru_cache(_REMEMBERED)
def verb_strength(core: str) -> float:
    """How surely the word is the base form of a verb: 0 never, about 1 a noun as well, 3 and more a verb first.

    The lexicon keeps one tag a word; its inflected forms show whether a noun is a verb too.
    """
    if core in ("be", "have", "do"):
        return 5.0
    tag = lookup(core)
    if tag in ("VB", "VBP"):
        return 3.0
    if not tag:
        prefixed = re.fullmatch(r"(?:mis|over|out|under|re|de|dis|un)-?(\w{3,})", core)
        known = prefixed is not None and lookup(prefixed[1]) in ("VB", "VBP")
        return 2.5 if known or _VERB_ENDING.search(core) else 0.0
    if tag in ("DT", "IN", "PRP", "PRP$", "CC", "MD", "TO", "WDT", "WP", "RB", "CD", "NNS", "VBZ", "VBG", "JJS"):
        return 0.0
    if tag in ("VBN", "VBD"):
        return 2.0 if core in _table() else 0.0
    inflected = core in _table() or lookup(past(core)) in ("VBN", "VBD") or lookup(gerund(core)) == "VBG"
    return (1.0 if tag.startswith("NN") else 0.7) if inflected else 0.0


@lru_cache(_REMEMBERED)
def base_form(core: str) -> str:
    """The base of an inflected verb ('harms', 'banned', 'led'), or '' when the word is no form of a verb."""
    if core in _bases():
        return _bases()[core]
    if core.endswith(("ies", "ied")):
        options = [core[:-3] + "y", core[:-1]]
    elif core.endswith("ing"):
        options = [core[:-3] + "e", core[:-3], core[:-4]] if len(core) > 5 else []
        options = [option for option in options if gerund(option) == core] if options else []
    elif core.endswith("ed"):
        options = [option for option in (core[:-1], core[:-2], core[:-3]) if option and _regular(option, "ed") == core]
    elif core.endswith("s") and not core.endswith("ss"):
        options = [option for option in (core[:-1], core[:-2]) if option and third_person(option) == core]
    else:
        options = []
    known = [option for option in options if verb_strength(option) > 0]
    return max(known, key=verb_strength) if known else ""


def is_participle(core: str) -> bool:
    """Whether the word can be a past participle: 'banned', 'taken', 'put'."""
    if core == "been" or lookup(core) == "VBN" or any(core == forms[1] for forms in _table().values()):
        return True
    return core.endswith("ed") and (lookup(core) in ("VBN", "VBD", "") or bool(base_form(core)))


def is_gerund(core: str) -> bool:
    """Whether the word is an -ing form of a verb."""
    return core.endswith("ing") and len(core) > 4 and (lookup(core) in ("VBG", "") or bool(base_form(core)))
