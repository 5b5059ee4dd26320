"""A clause as subject, finite verb and rest, and what can be made of it: statement, denial, question."""

import re
from dataclasses import dataclass, replace

from tools.language.grammar.boundary import head_noun
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.inflect import base_form, gerund, is_participle, past, third_person, verb_strength
from tools.language.grammar.lexicon import Word, is_name, join, lookup, words_of
from tools.language.grammar.subject import subject_end
from tools.language.grammar.word_classes import ADVERBS, AUXILIARIES, BE, DO, HAVE, QUANTIFIERS

_UNIVERSAL = re.compile(r"(?:everyone|everybody|everything|every|each|all)\b", re.I)
_NOT_EVERY = re.compile(rf"not (?={_UNIVERSAL.pattern})", re.I)
_ANY_SUBJECT = re.compile(r"(anyone|anybody|anything|any)\b", re.I)
_NO_SUBJECT = re.compile(r"(no one|nobody|nothing|none|no)\b", re.I)
_SOME = {"anyone": "someone", "anybody": "somebody", "anything": "something", "any": "some"}
_NO = {"anyone": "no one", "anybody": "nobody", "anything": "nothing", "any": "no"}
_ANY_IN_REST = re.compile(r"^((?:\w+ly |be |still )?)(any|anything|anyone|anybody)\b", re.I)
_SOME_IN_REST = re.compile(r"^((?:\w+ly |be )?)(?:any|some)(thing|one|body)\b", re.I)
_EITHER_OF_TWO = re.compile(r"((?:the )?[\w'-]+(?: [\w'-]+)?) or ((?:the )?[\w'-]+(?: [\w'-]+)?)", re.I)
_ANY = {"no one": "anyone", "nobody": "anybody", "nothing": "anything", "none": "any", "no": "any"}
_MASS = frozenset(
    "life evidence proof need hope point doubt time money room truth justice peace freedom support use value".split()
)
_SOMETIMES = frozenset(["is", "are", "was", "were", "am", "can", "could", "may", "should"])
_ANY_MORE = re.compile(r" any ?more$", re.I)
_EMPHASIS = re.compile(r"^(?:indeed|truly|really|actually) (?=\w)", re.I)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause, its subject written as inside a sentence.

    `rest` follows the finite verb; with 'do', 'does' and 'did' it begins with the base form. `denied` says that the
    clause was negated where it stood. `negator` is the word that denies it: 'not', 'never' (its opposite is
    'sometimes' or nothing) or 'no' before the noun in `rest`.
    """

    subject: str
    aux: str
    rest: str
    lead: str = ""
    denied: bool = False
    negator: str = "not"

    def statement(self) -> str:
        """The affirmative sentence."""
        rest = self.rest
        match = _ANY_SUBJECT.match(self.subject)
        if self.negator == "never" and self.aux in _SOMETIMES and not match:
            rest = f"sometimes {rest}"
        rest = _ANY_IN_REST.sub(lambda m: m[1] + _SOME[m[2].lower()], _ANY_MORE.sub("", rest), count=1)
        subject = _SOME[match[1].lower()] + self.subject[match.end() :] if match else self.subject
        return self._sentence(subject, self._verb_phrase(rest))

    def denial(self) -> str:
        """The sentence that denies the statement, in natural English."""
        if match := _ANY_SUBJECT.match(self.subject):
            return self._sentence(_NO[match[1].lower()] + self.subject[match.end() :], self._verb_phrase(self.rest))
        if _UNIVERSAL.match(self.subject) and self.negator == "not":
            return self._sentence(f"not {self.subject}", self._verb_phrase(self.rest))
        if match := _EITHER_OF_TWO.fullmatch(self.subject):
            return self._sentence(f"neither {match[1]} nor {match[2]}", self._verb_phrase(self.rest))
        rest = _EMPHASIS.sub("", self.rest)
        if rest.startswith("still ") and self.aux in BE | DO and self.subject.lower() != "there":
            rest = rest.removeprefix("still ")
            after = f"{self.aux} no longer {rest}" if self.aux in BE else f"no longer {self._verb_phrase(rest)}"
            return self._sentence(self.subject, after)
        if self.negator == "never":
            return self._sentence(self.subject, self._verb_phrase(f"never {rest}"))
        if without := self._with_no(rest):
            return self._sentence(self.subject, self._verb_phrase(without))
        if self.aux == "can":
            return self._sentence(self.subject, f"cannot {rest}")
        if self.aux == "must":
            return self._sentence(self.subject, f"{_do_for(self.subject)} not have to {rest}")
        return self._sentence(self.subject, f"{self.aux} not {rest}")

    def question(self) -> str:
        """The clause as a neutral yes-or-no question."""
        rest = self.rest
        if self.negator == "never":
            rest = f"ever {rest}"
        asked = f"{self.lead} {self.aux} {self.subject} {rest}".strip()
        return capital(re.sub(r"\s+", " ", asked).rstrip(" .!?,;:")) + "?"

    def topic(self) -> str:
        """A noun phrase for search queries: the subject of a copula, or else what the clause says as a gerund."""
        subject = re.sub(r"^(?:the|a|an)\s+", "", self.subject, flags=re.I)
        words = words_of(self.rest)
        passive = False
        while words and (words[0].adverb or words[0].core in ("be", "been", "to", "have")) and len(words) > 1:
            passive = (words.pop(0).core in ("be", "been")) or passive
        if self.subject.lower() in ("it", "there"):
            return _after_it(words)
        if passive and is_participle(words[0].core) and (done := base_form(words[0].core)):
            return _bare(f"{gerund(done)} {subject} {join(words[1:])}")
        if passive:
            return _bare(subject)
        pronoun = subject.lower() in ("we", "you", "i", "one", "they", "people", "society", "everyone")
        if (self.aux in BE and not pronoun) or not words:
            return _bare(subject)
        base = base_form(words[0].core) or words[0].core
        if not verb_strength(base):
            return _bare(subject if not pronoun else join(words))
        action = " ".join([gerund(base), *(word.text for word in words[1:])])
        return _bare(action if pronoun else f"{subject} {action}")

    def _with_no(self, rest: str) -> str:
        """'there is a limit' to 'there is no limit', and back to 'no' where the clause had it."""
        if self.negator == "no":
            verb, _, noun = rest.partition(" ") if self.aux in DO else ("", "", rest)
            return f"{verb} no {re.sub(r'^(?:a|an) ', '', noun)}".strip()
        if self.subject.lower() == "there":
            if _SOME_IN_REST.match(rest):
                return _SOME_IN_REST.sub(lambda m: m[1] + ("no one" if m[2] == "one" else f"no{m[2]}"), rest, count=1)
            if match := re.match(r"((?:be )?)(?:any|(?=such an? \w+))", rest):
                return f"{match[1]}no {re.sub(r'^such an? ', 'such ', rest[match.end() :].strip())}"
        if self.subject.lower() == "there" and self.aux in BE:
            first = words_of(rest)[:1]
            if re.match(r"(?:a|an|any) (?!lot|few|little|great|good)", rest):
                return "no " + rest.split(" ", 1)[1]
            if first and (first[0].noun or first[0].adjective):
                return "no " + rest
        return ""

    def _verb_phrase(self, rest: str) -> str:
        return _inflected(rest, self.aux) if self.aux in DO else f"{self.aux} {rest}"

    def _sentence(self, subject: str, predicate: str) -> str:
        lead = f"{self.lead} " if self.lead else ""
        text = f"{lead}{subject} {predicate}"
        return capital(re.sub(r"\s+", " ", text).strip().rstrip(" .!?,;:–—-")) + "."


def _do_for(subject: str) -> str:
    words = words_of(subject)
    head = head_noun(words)
    several = head is not None and (head.plural or any(word.core == "and" for word in words))
    return "do" if several or subject.lower() in ("we", "you", "i", "they", "people") else "does"


def _inflected(rest: str, aux: str) -> str:
    """'generally harm people' under 'does' to 'generally harms people'; a verb joined to it by 'and' too."""
    words = [word.text for word in words_of(rest)]
    cores = words_of(rest)
    at = next((i for i, word in enumerate(cores) if verb_strength(word.core)), 0)
    joined = [at]
    if at + 2 < len(cores) and cores[at + 1].core in ("and", "or") and verb_strength(cores[at + 2].core) >= 1.5:
        joined.append(at + 2)
    for i in joined if aux != "do" and cores else []:
        form = third_person(cores[i].core) if aux == "does" else past(cores[i].core)
        words[i] = words[i].lower().replace(cores[i].core, form, 1)
    return " ".join(words)


def from_question(words: list[Word], lead: str = "") -> Clause:
    """The clause of a question whose first word is its auxiliary; 'not' and 'never' are taken out."""
    aux = {"cannot": "can", "am": "am"}.get(words[0].core, words[0].core)
    rest = words[1:]
    denied = words[0].core == "cannot"
    if len(rest) > 1 and rest[0].core == "not" and rest[1].core != "being":
        rest, denied = rest[1:], True
    end = subject_end(rest, aux)
    subject, rest = rest[:end], rest[end:]
    if len(subject) == 2 and subject[0].core in ("we", "you", "they") and subject[1].core in ("all", "both"):
        subject, rest = subject[:1], [subject[1], *rest]
    clause = Clause(join(subject), _agreed(aux, subject), join(rest), lead, denied)
    return _denials_out(clause)


def from_statement(words: list[Word], lead: str = "") -> Clause | None:
    """The clause of a statement, its denial taken out, or None when no finite verb is found."""
    at = finite_verb(words)
    if at is None:
        return None
    verb, front = words[at], words[:at]
    adverbs: list[Word] = []
    while len(front) > 1 and (front[-1].core in ADVERBS or front[-1].core.endswith("ly")) and not front[-1].closes:
        adverbs.insert(0, front.pop())
    rest, core, denied = words[at + 1 :], verb.core, verb.core == "cannot"
    subject = lower_first(join(front))
    if match := _NO_SUBJECT.match(subject):
        subject, denied = _ANY[match[1].lower()] + subject[match.end() :], not denied
    elif match := _NOT_EVERY.match(subject):
        subject, denied = subject[match.end() :], not denied
    if core in DO and not (rest and (rest[0].core == "not" or verb_strength(rest[0].core))):
        return _denials_out(_with_main_verb(subject, adverbs, "do", core, rest, lead, denied))
    if core in HAVE and not _perfect(rest):
        return _denials_out(_with_main_verb(subject, adverbs, "have", core, rest, lead, denied))
    if core in AUXILIARIES:
        aux = "can" if core == "cannot" else core
        return _denials_out(Clause(subject, aux, join(adverbs + rest), lead, denied))
    base = base_form(core) if not verb_strength(core) or core.endswith("s") else core
    return _denials_out(_with_main_verb(subject, adverbs, base or core, core, rest, lead, denied))


def _with_main_verb(
    subject: str, adverbs: list[Word], base: str, form: str, rest: list[Word], lead: str, denied: bool
) -> Clause:
    aux = "do" if form == base else "does" if form == third_person(base) else "did"
    return Clause(subject, aux, " ".join([*(w.text for w in adverbs), base, *(w.text for w in rest)]), lead, denied)


def _perfect(rest: list[Word]) -> bool:
    follow = [word for word in rest[:3] if not word.adverb and word.core != "long"]
    return bool(follow) and (follow[0].core in ("been", "had") or follow[0].tag in ("VBN", "VBD"))


def _denials_out(clause: Clause) -> Clause:
    """The clause without its own negators; `denied` and `negator` remember them."""
    rest, denied, negator = clause.rest, clause.denied, clause.negator
    if match := re.match(r"((?:\w+ly )?)not (?!only\b|just\b|merely\b|all\b|every)", rest, re.I):
        rest, denied = match[1] + rest[match.end() :], not denied
    if match := re.match(r"((?:\w+ly )?)(never|ever) ", rest, re.I):
        rest, negator = match[1] + rest[match.end() :], "never"
        denied = denied != (match[2].lower() == "never")
    if rest.startswith("no such "):
        return replace(clause, rest=f"such {_article(rest.removeprefix('no such '))}", denied=not denied)
    match = re.match(r"((?:have )?)no (?=(\w+))(?!longer|one|more)", rest, re.I)
    if match:
        rest, negator, denied = match[1] + _article(rest[match.end() :]), "no", not denied
    if denied and clause.aux == "must":  # 'must not' forbids, and 'need not' would deny 'must'
        clause = replace(clause, aux="should")
    rest = re.sub(r"^any (?=good|better|worse|different)", "", re.sub(r"\s+at all\b", "", rest))
    return replace(clause, rest=rest, denied=denied, negator=negator)


def is_counted(noun: str) -> bool:
    """Whether the lexicon knows the noun's plural."""
    return "NNS" in (lookup(noun + "s"), lookup(re.sub("y$", "ies", noun)))


def _article(noun: str) -> str:
    """'enemy of the West' to 'an enemy of the West' where the noun is countable and stands alone."""
    first = words_of(noun)[0]
    countable = first.tag == "NN" and first.core not in _MASS and is_counted(first.core)
    return ("an " if first.core[0] in "aeiou" else "a ") + noun if countable else noun


def _agreed(aux: str, subject: list[Word]) -> str:
    """'Is the operations … and its approach' is asked with the wrong number now and then; mended where it is plain."""
    head = head_noun(subject)
    if head is None or not head.plural or subject[0].core != "the" or any(w.text[0].isupper() for w in subject[1:]):
        return aux
    regular = head.core.endswith("s") and lookup(head.core[:-1]).startswith("NN")
    return {"is": "are", "was": "were"}.get(aux, aux) if regular else aux


def _after_it(words: list[Word]) -> str:
    """'it is wrong to eat meat' is about eating meat; 'there is a god' about the god."""
    for i, word in enumerate(words[:-1]):
        if word.core == "to" and verb_strength(words[i + 1].core):
            return _bare(" ".join([gerund(words[i + 1].core), *(w.text for w in words[i + 2 :])]))
        if word.core == "that":
            return _bare(join(words[i + 1 :]))
    return _bare(re.sub(r"^(?:a|an|the|any|no|too much|too many|much|many)\s+", "", join(words)))


def _bare(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" .,;:!?")


def capital(text: str) -> str:
    """The text with its first letter large, unless a name such as 'iPhone' opens it."""
    at = next((i for i, c in enumerate(text) if c.isalnum()), 0)
    if re.match(r"[a-z]+[A-Z]", text[at:]):
        return text
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


def lower_first(text: str) -> str:
    """The text as it is written inside a sentence: its first letter small unless it begins a name."""
    first, _, others = text.partition(" ")
    following = others.split(" ", 1)[0]
    function_word = lookup(first.lower()) in ("DT", "PRP", "PRP$", "IN", "PDT")
    describes = lookup(first.lower()) in ("NN", "JJ", "VBN", "VBG", "") and first.lower() not in QUANTIFIERS
    in_name = following[:1].isupper() and not function_word and (is_name(following) or describes)
    return text if not first or is_name(first) or in_name else first[0].lower() + text[1:]
