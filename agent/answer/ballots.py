"""Blinded ballots: compare a question's answer with a plain ranked list of its retrieved passages.

Both pages have the same layout and no label. Chance decides the order of the pages for each voter and ballot; the vote
stores the order. The criteria come from Chen et al. 2022 (multi-perspective search engine, 5.1).
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select

from agent.answer.assemble import citation_of
from agent.answer.model import Answer
from agent.answer.outline import body_blocks, lead_blocks
from agent.answer.wording import source_line, strip_control_characters
from tools.language.grounding import stems
from tools.language.sentences import prose_text, split_sentences
from tools.passages import Passage
from tools.store.database import Database, upsert
from tools.store.schema import ballots, votes
from tools.translation import in_its_language, mark

CRITERIA = {
    "organisation": mark("Which page is better organised?"),
    "comprehensiveness": mark("Which page shows more of the different views on the question?"),
    "informativeness": mark("Which page tells you more that matters to the question?"),
    "preference": mark("All in all, which page would you rather be given?"),
}
_PERSON = "person"  # in earlier checkouts models could vote, too
Choice = Literal["left", "right", "same"]
Page = Sequence[tuple[str, str, Sequence[str]]]
"""Headings and paragraphs: (kind of block, text, cited sources)."""
_NOT_SHOWN = ("title", "read_as", "tried", "nearest", "looked_for", "folded", "how_to")
"""Kinds of blocks that repeat something or describe how the answer was made."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """A question with its two pages. providers: the providers of the answer."""

    id: int
    question: str
    answer: Page
    ranked: Page
    providers: str
    seed: int

    def blinded(self, voter: str) -> tuple[Page, Page, tuple[str, str]]:
        """Returns (left, right, their names) in the voter's order. The voter must not see the names."""
        if random.Random(f"{self.seed} {voter} {self.id}").random() < 0.5:
            return self.answer, self.ranked, ("answer", "list")
        return self.ranked, self.answer, ("list", "answer")


@dataclass(frozen=True, slots=True)
class Vote:
    """A person's choice for each criterion of a ballot; choices may be missing."""

    ballot: int
    voter: str
    answer_left: bool
    choices: Mapping[str, Choice]
    reason: str

    @property
    def complete(self) -> bool:
        return set(self.choices) == set(CRITERIA)

    def for_answer(self, criterion: str) -> float:
        """Returns 1 for the answer, 0 for the list, 0.5 for 'the same'."""
        chosen = self.choices[criterion]
        return 0.5 if chosen == "same" else float((chosen == "left") == self.answer_left)


@in_its_language
def answer_page(answer: Answer, explain: bool = False) -> Page:
    """explain: with all sentences of no side, not only the first few."""
    blocks = [*lead_blocks(answer), *body_blocks(answer, explain)]
    sources = {c.number: source_line(c) for c in answer.citations}
    return [
        (b.kind, b.labelled_text, [sources[n] for n in b.citations or ()]) for b in blocks if b.kind not in _NOT_SHOWN
    ]


@in_its_language
def ranked_page(answer: Answer, ranked: Sequence[Passage]) -> Page:
    """Returns as many first passages as the answer cites, each as its sentence with most of the question's words."""
    cited = {q.passage_id for c in answer.citations for q in c.quotations}
    asked, lines = set(stems(answer.english_question)), list[tuple[str, str, Sequence[str]]]()
    for passage in ranked[: len(cited)]:
        sentences = split_sentences(prose_text(passage.text))
        quote = max(sentences, key=lambda sentence: len(asked & set(stems(sentence))), default=passage.text)
        source = source_line(citation_of(0, passage, quote, None))
        lines.append(("case", f"“{strip_control_characters(quote)}”", [source]))
    return lines


@dataclass(frozen=True, slots=True)
class Ballots:
    database: Database

    def add(self, question: str, answer: Answer, ranked: Sequence[Passage], seed: int) -> None:
        """Stores a ballot, unless the question has one."""
        row = {"question": question, "seed": seed, "providers": ", ".join(sorted(set(answer.providers.values())))}
        row |= {"answer": json.dumps(answer_page(answer)), "ranked": json.dumps(ranked_page(answer, ranked))}
        with self.database.write() as db:
            upsert(db, ballots, [row])

    def drawn_for(self, voter: str) -> list[Ballot]:
        rows = [*self.database.rows(select(ballots).order_by(ballots.c.id))]
        random.Random(voter).shuffle(rows)
        return [Ballot(i, q, json.loads(a), json.loads(b), by, seed) for i, q, a, b, by, seed in rows]

    def vote(self, ballot: Ballot, voter: str, choices: Mapping[str, Choice], reason: str) -> None:
        """Stores the vote and replaces an earlier vote."""
        row: dict[str, object] = {"ballot_id": ballot.id, "voter": voter, "kind": _PERSON, "reason": reason}
        row |= {"answer_left": int(ballot.blinded(voter)[2][0] == "answer"), "choices": json.dumps(dict(choices))}
        with self.database.write() as db:
            upsert(db, votes, [row], replace=True)

    def votes(self, voter: str = "") -> list[Vote]:
        """Returns all votes, sorted by voter and ballot. voter: only the votes of this voter."""
        query = select(votes).where(votes.c.kind == _PERSON).order_by(votes.c.voter, votes.c.ballot_id)
        rows = self.database.rows(query.where(votes.c.voter == voter) if voter else query)
        return [Vote(i, who, bool(left), json.loads(said), why) for i, who, _, left, said, why in rows]
