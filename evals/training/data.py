"""Pairs of statement and text to train a judge on and to measure it with.

Rows come from `judge/train` and `berds` (see the data's README). A question goes to one side of the split by its words;
a training text that shares a run of words with a held-out or a development text, or with a passage that `overlap` names
as measured with, is left out, and so is what is about a question asked there.
"""

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path

from evals.datasets.overlap import read_evaluated
from evals.datasets.pairs import LabelledPair, load_pairs
from evals.datasets.rows import json_rows
from evals.training.examples import HARD_TARGETS, SENTENCE_WORDS, Example, placed_sentences, sentences_in_place
from evals.training.text import CUT, Asked, Row, claim, digest, fraction, key, questions, segments, sentences, shingles
from tools.models.judges.judge import judged_text

HELD_OUT = 0.1
_HELD_DISPUTES = 1 / 6
_SALT = "judge-1"
# Another point of the same question: mostly none, sometimes support, and nobody labelled it.
_SAME_TOPIC = (0.2, 0.1, 0.7)
_OTHER_SIDE = (0.0, 0.5, 0.5)
_KEEP_NONE = {"read_labels": 0.6, "readings": 0.6, "argkp21": 0.25, "ibm_gpr_sentence": 0.4, "fnc_arc": 0.3}
_POLAR = re.compile(r"(?i)(?!.*\bor\b)(should|is|are|was|were|does|do|did|can|could|will|would|has|have)\b.*\?\s*$")
_NEGATIVE = re.compile(r"(?i)\b(not|never|no|cannot)\b|n't\b")
_SUPPORT_ONLY = ("arc_gist", "debatepedia", "ibm_ce_emnlp15", "perspectrum_support")
# The first digits of the SHA-1 of one key point per topic, on the side that is for the topic's statement. The set gives
# the two sides of a topic (points that share no argument) but not which is which; assigned by reading the points.
_FOR_TOPIC = frozenset(
    "0231dce5 1176b845 1b37cf95 1e4a3d5c 20b222c7 22a9499d 2ab3edaf 2c45c253 31c15c8d 365ac646 3f5b9377 "
    "3fb3366a 4ace0d04 54887647 6dc475b3 7c41b892 7cd600e8 89762edc 9f7f5644 a2a1c203 a72a0f95 b080aa3e "
    "b3c9f19f c0971887 c99abcb5 cf9ebd92 d2b5075e d5950a0b d94e4b76 dd8da11a e84d6190".split()
)
READINGS = Path(__file__).with_name("readings.jsonl.gz")
"""Labels by reading: digests of a question and a text, and A, B, AB or N for what the text supports."""
WRITTEN = Path(__file__).with_name("written.jsonl.gz")
"""Snippets of imagined web pages, written for this: the digest of a question, a text and a label as in READINGS."""

CONTRASTS = Path(__file__).with_name("contrasts.jsonl.gz")
"""Short texts written for this that use like words for different sides: a question, its two statements, a text, and the
side that it argues for (A, B or N), by kind of difficulty."""

WORDINGS = Path(__file__).with_name("wordings.jsonl.gz")
"""Other wordings of the questions (`same`: with the same yes; `turned`: with the opposite one), and digests of the
question and of the statements of its yes and its no."""

DISPUTES = Path(__file__).with_name("disputes.jsonl.gz")
"""Documents on local and professional disputes, written for this: each sentence in its order, with the side that it
argues for in its place (yes, no or none)."""

POLARITIES = Path(__file__).with_name("polarities.jsonl.gz")
"""Made-up pairs that teach to multiply two polarities: statements for and against a thing ('should be banned', 'is
safe'), and texts for and against it ('spares families …', 'breeds …'). Real sets hold too few on the same thing."""


@dataclass
class Corpus:
    """Training and held-out examples by data set; `development` holds the human-labelled pairs (support or not)."""

    training: dict[str, list[Example]] = field(default_factory=dict)
    held_out: dict[str, list[Example]] = field(default_factory=dict)
    development: list[LabelledPair] = field(default_factory=list)

    def digest(self) -> str:
        """Twelve digits that change whenever an example does."""
        whole = hashlib.sha256()
        for name, examples in sorted(self.training.items()):
            for e in examples:
                whole.update(f"{name}\x1f{e.statement}\x1f{e.text}\x1f{e.target}\x1e".encode())
                whole.update(f"{e.contrary}\x1f{e.question}\x1f{e.wordings}\x1f{e.placed}\x1e".encode())
        return whole.hexdigest()[:12]


def load_corpus(data: Path, seed: int = 0) -> Corpus:
    """All examples under `data` (the folder that holds `judge` and `berds`), split, with sampled negatives."""
    rng = random.Random(seed)
    corpus = Corpus(development=load_pairs(data / "judge" / "berds_pairs.dev.jsonl"))
    everything = _read_all(data, rng)
    measured = list(read_evaluated(data))
    asked = {key(text) for one in measured for text in one.asked}
    blocked: set[int] = {s for one in measured for text in one.passages for s in shingles(text)}
    blocked.update(s for pair in corpus.development for s in shingles(judged_text(pair.document)))
    for name, examples in everything.items():
        corpus.held_out[name] = [e for e in examples if not taught(e)]
        blocked.update(s for e in corpus.held_out[name] for s in shingles(e.text))
        asked.update(key(text) for e in corpus.held_out[name] for text in (e.group, e.statement))
    for name, examples in everything.items():
        apart = [e for e in examples if taught(e) and not {key(e.group), key(e.statement)} & asked]
        seen: dict[str, bool] = {}
        for e in apart:
            if e.text not in seen:
                seen[e.text] = not any(s in blocked for s in shingles(e.text))
        kept = [_worded(e, asked) for e in apart if seen[e.text]]
        corpus.training[name] = [
            replace(e, placed="") if any(s in blocked for s in shingles(e.placed)) else e for e in kept
        ]
    corpus.training["polarities"] = [
        Example(row["statement"], row["text"], HARD_TARGETS[row["label"]], "polarities", row["statement"])
        for row in rows_of(POLARITIES)
    ]
    return corpus


def taught(e: Example) -> bool:
    """Whether the example's question is on the training side of the split."""
    return fraction(e.group, _SALT) >= (_HELD_DISPUTES if e.dataset == "disputes" else HELD_OUT)


def _worded(e: Example, asked: set[str]) -> Example:
    """With the other wordings of its question, but those that are asked where a judge is measured."""
    wordings = e.wordings or _wordings_of(e)
    return replace(e, wordings=tuple(one for one in wordings if key(one[0]) not in asked))


def _wordings_of(e: Example) -> tuple[tuple[str, bool], ...]:
    row = _wordings().get(digest(e.group))
    said = digest(e.statement)
    if row is None or said not in (row["yes"], row["no"]):
        return ()
    affirms = said == row["yes"]
    same, turned = ((text, affirms) for text in row["same"]), ((text, not affirms) for text in row["turned"])
    return ((judged_text(e.group), affirms), *same, *turned)


@cache
def _wordings() -> dict[str, Row]:
    return {row["question"]: row for row in rows_of(WORDINGS)}


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file; none of one that is not there. Raises InputError."""
    if path.exists():
        yield from (row.values for row in json_rows(path))


def _read_all(data: Path, rng: random.Random) -> dict[str, list[Example]]:
    found: dict[str, list[Example]] = {}
    files = sorted((data / "berds").glob("*.dev.jsonl"))
    berds = [row for path in files for row in rows_of(path) if len(row["perspectives"]) == 2]
    for path in sorted((data / "judge" / "train").glob("*.jsonl.gz")):
        rows = [r for r in rows_of(path) if r["label"] in HARD_TARGETS]
        name = path.name.removesuffix(".jsonl.gz").removesuffix("_point")
        kept = [r for r in rows if r["label"] in ("support", "oppose") or rng.random() < _KEEP_NONE.get(name, 1.0)]
        examples = [_example(name, r) for r in kept]
        found[name] = [e for e in examples if 3 <= len(e.text.split()) <= (130 if name == "control" else 1000)]
        if name in _SUPPORT_ONLY:
            found[name] += _negatives(found[name], rng)
        if name == "argkp21":
            found["argkp_topic"] = list(_topic_stances(rows, rng))
    for example in _readings(data / "judge" / "train", berds, rng):
        found.setdefault(example.dataset, []).append(example)
    contrasts = ((Asked(row["question"], row["A"], row["B"]), row) for row in rows_of(CONTRASTS))
    labelled = (_labelled(one, judged_text(row["text"]), row["label"], "contrasts") for one, row in contrasts)
    found["contrasts"] = [*chain.from_iterable(labelled)]
    found["disputes"] = [e for row in rows_of(DISPUTES) for e in sentences_in_place(row)]
    found["berds"] = [e for row in berds for e in _expansions(row)]
    return found


def _readings(sets: Path, berds: list[Row], rng: random.Random) -> Iterator[Example]:
    """Two pairs, one for each statement, of every labelled segment or sentence whose text is in the data."""
    asking = questions(berds, *(rows_of(sets / f"{name}.jsonl.gz") for name in ("procon20", "arc_stance")))
    asked = {digest(one.question): one for one in asking}
    passages = {row["passage"]: None for name in CUT for row in rows_of(sets / f"{name}.jsonl.gz")}
    texts = {digest(part): (part, "") for text in passages for part in segments(text)}
    cut = (sentences(judged_text(text)) for text in passages)
    texts |= {digest(text): (text, placed) for parts in cut for text, placed in placed_sentences("", parts)}
    for row in rows_of(READINGS):
        one, label = asked.get(row["question"]), row["label"]
        text, placed = texts.get(row["segment"], ("", ""))
        if one and text and (label != "N" or rng.random() < _KEEP_NONE["readings"]):
            name = "readings" if len(text.split()) > SENTENCE_WORDS else "read_sentences"
            yield from _labelled(one, text, label, name, placed)
    for row in rows_of(WRITTEN):
        if one := asked.get(row["question"]):
            yield from _labelled(one, judged_text(row["text"]), row["label"], "written")


def _labelled(asked: Asked, text: str, label: str, name: str, placed: str = "") -> Iterator[Example]:
    for statement, mine, its in ((asked.one, "A", "B"), (asked.other, "B", "A")):
        target = HARD_TARGETS["support" if mine in label else "oppose" if its in label else "none"]
        other = asked.other if mine == "A" else asked.one
        question = asked.question if _affirms(statement, other, asked.question) else ""
        yield Example(statement, text, target, name, asked.question, other, question, placed=placed)


def _affirms(statement: str, other: str, question: str) -> bool:
    """Whether the statement says Yes to a polar question, told by the other one alone being negative."""
    return bool(_POLAR.match(question) and _NEGATIVE.search(other) and not _NEGATIVE.search(statement))


def _example(name: str, row: Row) -> Example:
    statement, group = judged_text(row["statement"]), row["group"] or row["passage"][:80]
    target = HARD_TARGETS[row["label"]]
    question = ""
    if name == "procon20":
        question, statement = statement, claim(statement)
    elif name == "vast_sentswap":
        statement = f"{statement[:1].upper()}{statement[1:]} should be supported."
    elif name == "theperspective" and "other point" in row["kind"]:
        target = (0.35, 0.0, 0.65)
    return Example(statement, judged_text(row["passage"]), target, name, group, question=question)


def _negatives(examples: list[Example], rng: random.Random) -> list[Example]:
    """For each supporting pair a text from elsewhere, and one from the same question that supports another point."""
    by_group: dict[str, list[Example]] = {}
    for e in examples:
        by_group.setdefault(e.group, []).append(e)
    made = []
    for e in examples:
        made.append(replace(e, text=rng.choice(examples).text, target=HARD_TARGETS["none"]))
        others = [o for o in by_group[e.group] if o.statement != e.statement and o.text != e.text]
        if others:
            made.append(replace(e, text=rng.choice(others).text, target=_SAME_TOPIC))
    return made


def _topic_stances(rows: list[Row], rng: random.Random) -> Iterator[Example]:
    """Arguments and key points against their topic's statement, and against a key point of the other side."""
    sides: dict[str, list[tuple[set[str], set[str]]]] = {}
    for row in rows:
        sides.setdefault(row["group"], [])
        _join(sides[row["group"]], row["statement"], row["passage"])
    for topic, parts in sides.items():
        pros = [p for p in parts if any(hashlib.sha1(point.encode()).hexdigest()[:8] in _FOR_TOPIC for point in p[0])]
        for points, arguments in parts:
            target = HARD_TARGETS["support" if (points, arguments) in pros else "oppose"]
            others = sorted(point for p in parts if p[0] is not points for point in p[0])
            for text in sorted(arguments | points):
                yield Example(rng.choice(_restated(topic)), judged_text(text), target, "argkp_topic", topic)
                if others and rng.random() < 0.3:
                    yield Example(rng.choice(others), judged_text(text), _OTHER_SIDE, "argkp_topic", topic)


def _join(parts: list[tuple[set[str], set[str]]], point: str, argument: str) -> None:
    touching = [p for p in parts if point in p[0] or argument in p[1]]
    points, arguments = {point}, {argument}
    for p in touching:
        points |= p[0]
        arguments |= p[1]
        parts.remove(p)
    parts.append((points, arguments))


_PARTICIPLES = {
    "abandon": "abandoned", "abolish": "abolished", "adopt": "adopted", "ban": "banned", "close": "closed",
    "end": "ended", "fight": "fought", "legalize": "legalized", "prohibit": "prohibited", "subsidize": "subsidized",
}  # fmt: skip


def _restated(topic: str) -> list[str]:
    """The topic as it stands and, where it opens with 'We should', in the passive."""
    words = topic.split()
    if words[:2] != ["We", "should"] or len(words) < 4 or words[2] not in _PARTICIPLES:
        return [topic]
    rest = " ".join(words[3:])
    return [topic, f"{rest[:1].upper()}{rest[1:]} should be {_PARTICIPLES[words[2]]}."]


def _expansions(row: Row) -> Iterator[Example]:
    """Sentences of expansions that open with Yes or No, for and against a two-sided question's statements."""
    for expansion in row["expansions"]:
        opening, _, body = expansion["text"].partition(",")
        opening = opening.strip().lower()
        said = sentences(body.strip()) if opening in ("yes", "no") else ()
        for position, (sentence, placed) in enumerate([*placed_sentences("", said)][:3]):
            sure = 0.95 if position == 0 else 0.75
            for statement, yes in zip(row["perspectives"], (True, False), strict=True):
                agrees = (opening == "yes") == yes
                target = (sure, 0.0, 1 - sure) if agrees else (0.0, sure, 1 - sure)
                other = row["perspectives"][yes]
                asked = row["question"] if _affirms(statement, other, row["question"]) else ""
                text = sentence[:1].upper() + sentence[1:]
                yield Example(statement, text, target, "berds", row["question"], other, asked, placed=placed)
