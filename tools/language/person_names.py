"""Recognises people's names and finds a name's fullest form in a document. The patterns are in `conventions.toml`."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path

from tools.language.lexicon import is_name, is_word, lexicon_tag

_BLOCKS, _SEARCHED = 4_000, 400_000  # most blocks and characters of a document that are searched for names
_MOST_NAMES = 500
_CENTRE = re.compile(r"Cent(?:re|er) for |.*\b(?:Policy|Research|Studies|Advice|Law) (?:Cent(?:re|er)|Unit)$")
_LEGAL_FORMS = ("plc", "ltd", "inc")  # also written without a capital
_LABEL_SIGNS = " ~@*#<>•·–—-|,:\u200e"  # signs around a label
_MOST_FORMS, _LONGEST_FORM = 200, 70  # most occurrences of a name; characters before the name's last word


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Returns a regular expression of `conventions.toml`."""
    return re.compile(source(name))


@cache
def source(name: str) -> str:
    text = "".join(line.strip() if "\n" in _conventions()[name] else line for line in _conventions()[name].splitlines())
    return re.sub(r"<<(\w+)>>", lambda other: f"(?:{source(other[1])})", text)


@cache
def _conventions() -> dict[str, str]:
    return tomllib.loads((Path(__file__).parent / "conventions.toml").read_text("utf-8"))


def without_leading_words(name: str) -> str:
    """Returns the name without other capitalised words before it. The result begins with the name's last titles, else
    with its first possible name."""
    if runs := list(pattern("TITLES").finditer(name)):
        return name[runs[-1].start() :]
    words = name.split()
    while len(words) > 1 and lexicon_tag(words[0].lower()) and not lexicon_tag(words[0]).startswith("NNP"):
        words.pop(0)
    return " ".join(words)


def is_person(name: str) -> bool:
    """Whether a name has a title or several words."""
    words = name.split()
    if not words or words[0].lower() == "the":
        return False
    named = (is_name(word.capitalize() if word.isupper() else word) for word in words if len(word) > 2)
    return bool(pattern("TITLED").match(f"{name} ")) or (len(words) > 1 and any(named))


def fullest_form(name: str, text: str) -> str:
    """Returns the name's fullest form in the text: 'Cllr Idris Pell' for 'Cllr Pell'; the name if two people match.
    Several people's names, separated by commas, each get their fullest form."""
    if len(people := name.split(", ")) > 1:  # otherwise with a rank: 'Una Roe, MP'
        return ", ".join(fullest_form(each, text) for each in people) if all(map(is_person, people)) else name
    own = run[0] if (run := pattern("TITLED").match(f"{name} ")) else ""
    words = name[len(own) :].split()
    while len(words) > 1 and pattern("PARTICLE").fullmatch(words[0]):
        words.pop(0)
    if not words:
        return name
    found: dict[str, str] = {}
    for place in islice(re.finditer(rf"(?<![\w-]){re.escape(words[-1])}(?![\w-])", text), _MOST_FORMS):
        form = pattern("FORM").search(text[max(0, place.start() - _LONGEST_FORM) : place.end()])
        titled = without_leading_words(form[0]) if form else words[-1]
        title = run[0] if (run := pattern("TITLED").match(titled)) else ""
        before = titled[len(title) :].split()[:-1]
        words_before = form[0].split()[:-1] if form and len(words) == 1 and titled == words[-1] else []
        if words_before and lexicon_tag(words_before[-1].lower()).startswith(("N", "J")):
            found[words_before[-1]] = name  # 'Eva Roe': the first name is a word
        first = before[: -len(words) + 1] if len(words) > 1 and before[-len(words) + 1 :] == words[:-1] else before
        named = not all(map(pattern("PARTICLE").fullmatch, first))
        if named and _is_form_of(words[:-1], before) and _titles_agree(own, title):
            full = " ".join([*title.split(), *before, words[-1]])
            found[before[0][0]] = max(found.get(before[0][0], ""), full, key=len)
    if len(found) == 1:
        return max(*found.values(), name, key=lambda form: len(pattern("TITLED").sub("", form).split()))
    return name if found or own or len(words) > 1 else _with_surname(name, text)


def _is_form_of(names: list[str], others: list[str]) -> bool:
    """Whether all first names occur among the other name's first names in the same order, in full or as initials."""
    left = iter([other.strip(".").casefold() for other in others])
    wanted = [name.strip(".").casefold() for name in names]
    return all(any(o == n or (1 in (len(o), len(n)) and o[:1] == n[:1]) for o in left) for n in wanted)


def _titles_agree(one: str, other: str) -> bool:
    """Whether two titles can belong to one person."""
    his, hers = (pattern(name).search for name in ("HIS", "HERS"))
    return not ((his(one) and hers(other)) or (hers(one) and his(other)))


def _with_surname(name: str, text: str) -> str:
    """Returns a first name with its surname, if exactly one surname follows the first name in the text."""
    after = re.findall(rf"(?<![\w-]){re.escape(name)} ((?:{source('PARTICLE')} ){{0,3}}{source('WORD')})", text)
    surnames = {last for last in after if lexicon_tag(last.split()[-1].lower())[:1] not in ("V", "M")}
    return f"{name} {surnames.pop()}" if len(surnames) == 1 else name


def role_holder(role: str, text: str) -> str:
    """Returns the holder of a role: 'Cllr Idris Pell (Chair)', 'the Clerk, Mrs Bray'; '' if the text names nobody, or
    several people."""
    named, person = re.escape(re.sub(r"^(?:the|an?) ", "", role, flags=re.IGNORECASE)), source("PERSON")
    if re.fullmatch(r"(?i:chair(?:man|woman|person)?|conven[eo]r)", named):
        named = r"(?:chair(?:man|woman|person)?|conven[eo]r)"
    for told in (
        rf"({person})(?: ?\([A-Z]{{2,3}}\))? ?[(\[](?i:(?:[^()]{{0,60}}\W)?{named}(?:\W[^()]{{0,60}})?)[)\]]",
        rf"(?i:\b{named})(?:,? \(?({person})|: ({person})(?= \w+:| ?(?:[;.()\n]|$)))",
        rf"(?:^|[;:.\n] ?)({person}), (?:the )?(?i:{named})\b",
    ):
        people = {match[match.lastindex or 0] for match in re.finditer(told, text)}
        people = {person for person in people if is_person(person) and not pattern("NO_NAME").match(person)}
        if holders := {person for person in people if pattern("TITLES").sub("", f"{person} ")}:
            return holders.pop() if len(holders) == 1 else ""
    return ""


def ordinary_case(name: str) -> str:
    """Returns a name in ordinary case: 'Sir A. Leverson-Gray' for 'SIR A. LEVERSON-GRAY'."""
    whole = name.isupper()
    return re.sub(rf"(?<!\w)[^\W\d_a-z]{{{2 if whole else 3},}}(?!\w)", lambda word: word[0].capitalize(), name)


def is_surely_person(label: str) -> bool:
    """Whether a label surely names a person, because it has a title, several names or a role."""
    if pattern("ROLE").fullmatch(label):
        return True
    plain = ordinary_case(label) if label.isupper() else label
    named = all(pattern("PERSON").fullmatch(part) for part in plain.removeprefix("The ").split(", ", 1))
    return named and is_person(plain) and not pattern("NO_NAME").match(plain)


def is_organisation(name: str) -> bool:
    """Whether a line is an organisation's name: 'Harnley Students' Union', 'University of Leeds'."""
    name = ordinary_case(name) if name.isupper() else name
    words = [bare for word in re.sub(r"(?i)^the ", "", name).split() if (bare := word.strip("'’(),."))]
    joining = [i for i, word in enumerate(words) if pattern("JOINING").fullmatch(word.lower())]
    small = [w for i, w in enumerate(words) if not (w[0].isupper() or i in joining or w in _LEGAL_FORMS)]
    if small or not 1 < len(words) < 9:
        return False
    joined = next((i for i in joining if words[i].lower() != "and"), None)
    own = words[:joined]
    return bool(
        own and (own[0] == "Radio" or pattern("BODY_NOUN").fullmatch(own[-1]) or _CENTRE.match(" ".join(words)))
    )


def is_numbered(label: str) -> bool:
    """Whether a label is a numbered person: 'Flat 4', 'R-07'."""
    return bool(pattern("NUMBERED").fullmatch(label))


def is_handle(label: str) -> bool:
    """Whether a label next to a time can be a name in a chat or thread."""
    words = re.sub(r"\(.*\)", "", label).split()
    if not words or ":" in label:
        return False
    if pattern("NOBODY").fullmatch(label):
        return True
    if len(words) == 1:
        odd = label.endswith((".", "!", "?", ":")) or label[0].isdigit()
        return not odd and lexicon_tag(label.lower())[:2] not in ("PR", "DT", "IN")
    person = pattern("PERSON").pattern
    if 1 < len(words) < 5 and words[-1][0].isupper() and not any(w[0].islower() and lexicon_tag(w) for w in words):
        return True
    return bool(re.fullmatch(rf"{person}(?:(?: of|,) {person}| \w)?", " ".join(words))) or may_be_name(label)


def may_be_name(label: str) -> bool:
    """Whether a label, by its words, can be a person's name or role."""
    name = ordinary_case(label)
    if not 0 < len(label.split()) < 7 or pattern("NO_SPEAKER").fullmatch(label):
        return False
    if label in "QA" or pattern("ROLE").fullmatch(label):
        return True
    if " " in label:
        return bool(pattern("PERSON").fullmatch(name.removeprefix("The "))) and is_person(name)
    return not is_word(label.lower()) if label.isupper() else label[0].isupper() and label.isalpha() and is_name(label)


def people_listed(lines: Iterable[str]) -> dict[str, str]:
    """Maps first names and surnames to the names in lists of those present. Leaves out names that two people share."""
    lists = ", ".join(part for line in lines for part in pattern("ATTENDING").split(line, 1)[1:])
    names = (name.strip(" .") for name in re.split(r"[,;.] | and ", re.sub(r" ?\([^()]*\)", "", lists)))
    people = [name for name in names if " " in name and pattern("PERSON").fullmatch(name)]
    parts = [(part, name) for name in people for part in pattern("TITLES").sub("", name).split()]
    shared = Counter(part for part, _ in parts)
    return {part: name for part, name in parts if shared[part] == 1}


def name_in_label(text: str) -> str:
    """Returns the name in a label without signs, roles, times and post counts."""
    who, member = pattern("MEMBER").subn("", text.strip(_LABEL_SIGNS))
    if member and " " in who and not is_name(last := who.split()[-1]) and is_word(last):  # a member's rank
        who = who.rpartition(" ")[0]
    for _ in range(5):
        before, who = who, pattern("AFTER_LABEL").sub("", who).rstrip(_LABEL_SIGNS)
        if who == before:
            break
    who = pattern("BEFORE_LABEL").sub("", who)
    first, *rest = pattern("PARTED").split(who, 1)
    if rest and (first.isdigit() or is_numbered(first)):  # 'Response 3 – Una Roe, pilot'
        first, *rest = pattern("PARTED").split(rest[0], 1)
        who = first
    return first if is_surely_person(first) or (rest and not rest[0][:1].isupper()) else who


class SpeakerNames:
    """The fullest names of a document's speakers, cached."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts, self._text = texts, ""
        self._known: dict[str, str] = {}

    def full(self, who: str) -> str:
        """Returns the name as the document has it: 'Cllr Faulds' for 'FAULDS', 'Jana Ruiz (JR)' for 'JR'."""
        if len(self._known) > _MOST_NAMES:
            return self._known.get(who) or ordinary_case(who)
        if who not in self._known:
            self._text = self._text or "\n".join(islice(self._texts, _BLOCKS))[:_SEARCHED]
            self._known[who] = self._find(who)
        return self._known[who]

    def _find(self, who: str) -> str:
        label, last = ordinary_case(who), who.rpartition(" ")[2]
        if last != who and pattern("INITIALS").fullmatch(last) and f"({last})" in self._text:  # after a heading
            return self.full(last)
        if pattern("INITIALS").fullmatch(who):
            words = [rf"(?:{source('PARTICLE')} )*{initial}[\w'’-]+" for initial in who.replace(".", "")]
            told = re.findall(rf"({source('PERSON')}) ?\({re.escape(who)}\b", self._text)
            told = [name for name in told if " " in name or not is_word(name.lower())]  # 'Motion (JR)'
            people = set(told or re.findall(rf"\b{' '.join(words)}", self._text))
            if people:
                return name_with_label(fullest_form(people.pop(), self._text), who) if len(people) == 1 else who
        elif who.lower().startswith("the ") or pattern("ROLE").fullmatch(who):
            holder = role_holder(who, self._text)
            return name_with_label(fullest_form(holder, self._text), label) if holder else label
        full = fullest_form(label, self._text)
        return who if full == label and len(who.replace(".", "")) == 2 else full  # 'KV', which stays unexplained


def name_with_label(name: str, label: str) -> str:
    """Returns a name with its label, if the two differ: 'Mrs Bray (the Clerk)'."""
    return name if label.removeprefix("The ") in name else f"{name} ({label.replace('The ', 'the ', 1)})"
