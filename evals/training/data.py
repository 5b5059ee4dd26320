"""Loads the judges' training data: examples from public sets and this project's files, split by question.

DIR has `judge/train/*.jsonl.gz` (rows: `ds`, `group`, `passage`, `statement`, `label`), `judge/berds_pairs.dev.jsonl`
and `berds/`. The loader leaves out training texts that share a run of words with a held-out text or with evaluation
data. It leaves out questions of held-out examples and of evaluation data, too.
"""

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from evals.datasets.overlap import read_evaluated
from evals.datasets.pairs import LabelledPair, load_pairs
from evals.datasets.rows import json_rows
from evals.training.negation import claim
from evals.training.text import CUT, Asked, Row, digest, fraction, key, questions, segments, sentences, shingles
from tools.models.judges.judge import in_context, judged_text

HELD_OUT = 0.1
_HELD_DISPUTES = 1 / 6
_SENTENCE_WORDS = 45
Target = tuple[float, float, float]  # probabilities of support, oppose and none
HARD_TARGETS: dict[str, Target] = {"support": (1, 0, 0), "oppose": (0, 1, 0), "none": (0, 0, 1), "unrelated": (0, 0, 1)}
# Targets of pairs that people did not label: a text for another point of the question, or a point of the other side.
_SAME_TOPIC = (0.2, 0.1, 0.7)
_OTHER_SIDE = (0.0, 0.5, 0.5)
_KEEP_NONE = {"read_labels": 0.6, "readings": 0.6, "argkp21": 0.25, "ibm_gpr_sentence": 0.4, "fnc_arc": 0.3}
_POLAR = re.compile(r"(?i)(?!.*\bor\b)(should|is|are|was|were|does|do|did|can|could|will|would|has|have)\b.*\?\s*$")
_NEGATIVE = re.compile(r"(?i)\b(not|never|no|cannot)\b|n't\b")
_SUPPORT_ONLY = ("arc_gist", "debatepedia", "ibm_ce_emnlp15", "perspectrum_support")
# ArgKP gives the two sides of a topic (points that share no argument), but not which side supports the topic's
# statement. These are SHA-1 prefixes of one supporting key point of each topic, assigned by reading.
_FOR_TOPIC = frozenset(
    "0231dce5 1176b845 1b37cf95 1e4a3d5c 20b222c7 22a9499d 2ab3edaf 2c45c253 31c15c8d 365ac646 3f5b9377 "
    "3fb3366a 4ace0d04 54887647 6dc475b3 7c41b892 7cd600e8 89762edc 9f7f5644 a2a1c203 a72a0f95 b080aa3e "
    "b3c9f19f c0971887 c99abcb5 cf9ebd92 d2b5075e d5950a0b d94e4b76 dd8da11a e84d6190".split()
)
_FOLDER = Path(__file__).parent
# Digests of a question and of a text, and the side that the text supports: A, B, AB or N.
READINGS = _FOLDER / "readings.jsonl.gz"
# Snippets of imagined web pages: digest of a question, text, label as in READINGS.
WRITTEN = _FOLDER / "written.jsonl.gz"
# Short texts with similar words for different sides: question, its two statements, text, label (A, B or N).
CONTRASTS = _FOLDER / "contrasts.jsonl.gz"
# Other wordings of a question ('Yes' means the same in `same`, the opposite in `turned`), and digests of the question
# and of both statements.
WORDINGS = _FOLDER / "wordings.jsonl.gz"
# Documents on local and professional disputes: sentences in order, each with its side (yes, no or none).
DISPUTES = _FOLDER / "disputes.jsonl.gz"
# Generated statements for and against a thing ('should be banned') with texts for and against it ('breeds …').
POLARITIES = _FOLDER / "polarities.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Example:
    """A statement and a text, with the target. The last four fields are empty if unknown.

    group: the question or topic; the split keeps groups whole. contrary: the statement of the opposing side. question:
    a question to which 'Yes' means the statement. wordings: other questions, each with whether 'Yes' means the
    statement. placed: the text between its neighbours (`in_context`).
    """

    statement: str
    text: str
    target: Target
    dataset: str
    group: str
    contrary: str = ""
    question: str = ""
    wordings: tuple[tuple[str, bool], ...] = ()
    placed: str = ""

    @property
    def label(self) -> int:
        """Returns the likeliest label: SUPPORT, OPPOSE or NONE."""
        return self.target.index(max(self.target))

    @property
    def is_sentence(self) -> bool:
        return len(self.text.split()) <= _SENTENCE_WORDS


def hard(examples: Iterable[Example]) -> list[Example]:
    """Returns the examples whose target is certain enough for measures."""
    return [e for e in examples if max(e.target) >= 0.9]


def placed_sentences(title: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields each sentence of a text, alone and in its context."""
    for before, text, after in zip(("", *texts), texts, (*texts[1:], ""), strict=False):
        yield text, in_context(title, before, text, after)


def sentences_in_place(row: Row) -> Iterator[Example]:
    """Yields the sentences of a document of DISPUTES. The statement is what 'Yes' to the document's question means."""
    question = judged_text(row["question"])
    wordings = ((question, True), *((t, True) for t in row["same"]), *((t, False) for t in row["turned"]))
    parts = placed_sentences(row["title"], [judged_text(s["text"]) for s in row["sentences"]])
    for sentence, (text, placed) in zip(row["sentences"], parts, strict=True):
        target = HARD_TARGETS[{"yes": "support", "no": "oppose"}.get(sentence["label"], "none")]
        yield Example(claim(question), text, target, "disputes", row["dispute"], "", question, wordings, placed)


@dataclass
class Corpus:
    """Training and held-out examples by data set. `development`: pairs labelled by people (support or not)."""

    training: dict[str, list[Example]] = field(default_factory=dict)
    held_out: dict[str, list[Example]] = field(default_factory=dict)
    development: list[LabelledPair] = field(default_factory=list)


def load_corpus(data: Path, seed: int = 0) -> Corpus:
    """Reads and splits all examples under DIR, and samples negative examples."""
    rng = random.Random(seed)
    corpus = Corpus(development=load_pairs(data / "judge" / "berds_pairs.dev.jsonl"))
    everything = _read_all(data, rng)
    measured = list(read_evaluated(data))
    asked = {key(text) for one in measured for text in one.asked}
    blocked: set[int] = {s for one in measured for text in one.passages for s in shingles(text)}
    blocked.update(s for pair in corpus.development for s in shingles(judged_text(pair.document)))
    for name, examples in everything.items():
        corpus.held_out[name] = [e for e in examples if not _is_training(e)]
        blocked.update(s for e in corpus.held_out[name] for s in shingles(e.text))
        asked.update(key(text) for e in corpus.held_out[name] for text in (e.group, e.statement))
    wordings = {row["question"]: row for row in rows_of(WORDINGS)}
    for name, examples in everything.items():
        apart = [e for e in examples if _is_training(e) and not {key(e.group), key(e.statement)} & asked]
        new = {text: blocked.isdisjoint(shingles(text)) for text in {e.text for e in apart}}
        kept = [_worded(e, wordings, asked) for e in apart if new[e.text]]
        corpus.training[name] = [e if blocked.isdisjoint(shingles(e.placed)) else replace(e, placed="") for e in kept]
    corpus.training["polarities"] = [
        Example(row["statement"], row["text"], HARD_TARGETS[row["label"]], "polarities", row["statement"])
        for row in rows_of(POLARITIES)
    ]
    return corpus


def _is_training(e: Example) -> bool:
    return fraction(e.group) >= (_HELD_DISPUTES if e.dataset == "disputes" else HELD_OUT)


def _worded(e: Example, rows: Mapping[str, Row], asked: set[str]) -> Example:
    """Adds the other wordings of the example's question, except wordings that evaluation data contain."""
    wordings, row, said = e.wordings, rows.get(digest(e.group)), digest(e.statement)
    if row and not wordings and said in (row["yes"], row["no"]):
        affirms = said == row["yes"]
        same, turned = ((text, affirms) for text in row["same"]), ((text, not affirms) for text in row["turned"])
        wordings = ((judged_text(e.group), affirms), *same, *turned)
    return replace(e, wordings=tuple(one for one in wordings if key(one[0]) not in asked))


def rows_of(path: Path) -> Iterator[Row]:
    """Yields the rows of a file, or no rows if the file does not exist. Raises InputError."""
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
    """Yields two pairs, one for each statement of the question, for each labelled segment or sentence. Skips labels
    whose text the data lack."""
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
            name = "readings" if len(text.split()) > _SENTENCE_WORDS else "read_sentences"
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
    """Returns whether the statement means Yes to a polar question: true if the other statement is negative and this one
    is not."""
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
    """Returns two pairs for each supporting pair: one with an unrelated text, one with a text for another point of the
    question."""
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
    """Yields arguments and key points with the topic's statement, and with a key point of the other side."""
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
    parts[:] = [p for p in parts if p not in touching]
    parts.append(({point}.union(*(p[0] for p in touching)), {argument}.union(*(p[1] for p in touching))))


_PARTICIPLES = {
    "abandon": "abandoned", "abolish": "abolished", "adopt": "adopted", "ban": "banned", "close": "closed",
    "end": "ended", "fight": "fought", "legalize": "legalized", "prohibit": "prohibited", "subsidize": "subsidized",
}  # fmt: skip


def _restated(topic: str) -> list[str]:
    """Returns the topic. If the topic begins with 'We should', returns its passive form, too."""
    words = topic.split()
    if words[:2] != ["We", "should"] or len(words) < 4 or words[2] not in _PARTICIPLES:
        return [topic]
    rest = " ".join(words[3:])
    return [topic, f"{rest[:1].upper()}{rest[1:]} should be {_PARTICIPLES[words[2]]}."]


def _expansions(row: Row) -> Iterator[Example]:
    """Yields the first sentences of each expansion (a model's perspective) that begins with Yes or No, with both
    statements of the question."""
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
