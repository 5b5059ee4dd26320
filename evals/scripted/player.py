"""What a scripted chat model says in a run over pages of known sides: it plans and writes as it was told to.

Its cases are made of gold claims, true and bad ones, each citing the passages of its pages that were shown. How it
judges passages and checks claims is its manner:

right     by the gold
all       passages by the gold; every claim is said and serves
tenth     wrong about a random tenth of the passages and, at every call, of the claims
first     right, but the first passage of a call speaks clearly for the first side
favour    right, but what is mixed speaks clearly for the first side of the call
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Literal

from evals.datasets.rows import Shape, Text
from tools.language.grounding import content_overlap

Manner = Literal["right", "all", "tenth", "first", "favour"]
MANNERS: tuple[Manner, ...] = ("right", "all", "tenth", "first", "favour")
_TENTH = 0.1
_WHOLE = 0.9  # of what a page says of a claim, to be shown before it can be written
_CITED = 3
_NOBODYS = 99
_INVENTED = ", as 9,417 people were asked to confirm"
_SPACES = re.compile(r"\s+")
_ELEMENT = re.compile(r'<(side|passage|claim|statement)(?: (?:label|number)="(\w+)")?([^>]*)>(.*?)</\1>', re.DOTALL)


class Page(Shape):
    """A page and the side that it is on: 'for', 'against', 'mixed' or 'stray'."""

    id: Text
    side: Text
    text: Text
    title: str = ""
    publisher: str = ""
    topic: str = ""


class Written(Shape):
    """A gold claim: whether it is true of its pages or how it is bad, and the side that it is written for."""

    text: Text
    kind: Text
    side: Text
    pages: tuple[str, ...]
    topic: str = ""
    half: str = ""


@dataclass
class Player:
    """The script of one topic. waiting: the claims that were not written yet; offered: those of the present run."""

    question: str
    statements: dict[str, str]
    pages: Sequence[Page]
    waiting: list[Written]
    manner: Manner
    seed: int
    a_side: int = 6
    offered: list[Written] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    crux: Written | None = None
    cruxes: int = 0
    claims: list[Written] = field(init=False)

    def __post_init__(self) -> None:
        self.claims = list(self.waiting)

    def __call__(self, shape: str, prompt: str) -> Any:
        elements = [(kind, label, of, _plain(unescape(text))) for kind, label, of, text in _ELEMENT.findall(prompt)]
        return getattr(self, f"_{shape.lower()}")(elements)

    def _framedquestion(self, _: Any) -> Any:
        return {"form": "polar", "question": self.question, "alternatives": [], "focus": ""}

    def _plannedsides(self, _: Any) -> Any:
        stances = {"for": "supports", "against": "opposes"}
        sides = [(side.capitalize(), text, stances[side]) for side, text in self.statements.items()]
        return {"perspectives": [{"name": n, "statement": text, "stance": stance} for n, text, stance in sides]}

    def _plannedqueries(self, elements: Any) -> Any:
        statement = next(text for kind, _, _, text in elements if kind == "statement")
        return {"queries": [f"evidence that {statement}", f"reasons why {statement}"]}

    def _verdicts(self, elements: Any) -> Any:
        sides = {self._side_of(text): label for kind, label, _, text in elements if kind == "side"}
        passages = [(label, text) for kind, label, _, text in elements if kind == "passage"]
        verdicts = [v for n, (label, text) in enumerate(passages) for v in self._verdict(n, label, text, sides)]
        return {"verdicts": verdicts}

    def _verdict(self, place: int, label: str, text: str, sides: dict[str, str]) -> Iterator[dict[str, str]]:
        page = next((p for p in self.pages if text in _plain(p.text) or _plain(p.text) in text), None)
        known = page.side if page else "stray"
        first = next(iter(sides))
        if self.manner == "tenth" and (drawn := self._errs(text)):
            known = drawn.choice([s for s in ("for", "against", "stray") if s != known])
        if (self.manner == "first" and place == 0) or (self.manner == "favour" and known == "mixed"):
            known = first
        supported = [s for s in sides if s == known or known == "mixed"]
        grade = "weak" if known == "mixed" else "clear"
        for side in supported:
            yield {"passage": label, "side": sides[side], "grade": grade}
        if not supported:
            yield {"passage": label, "side": "none", "grade": "clear"}

    def _checkedclaims(self, elements: Any) -> Any:
        known = {c.text: c.kind == "true" for c in (*self.offered, *([self.crux] if self.crux else []))}
        said = []
        for kind, label, _, text in elements:
            if kind == "claim":
                yes = known.get(text, False) or self.manner == "all"
                if self.manner == "tenth" and self._errs(text):
                    yes = not yes
                said.append({"claim": label, "said": "yes" if yes else "no", "serves": "yes" if yes else "no"})
        return {"claims": said}

    def _writtencase(self, elements: Any) -> Any:
        side = next(self._side_of(text) for kind, _, _, text in elements if kind == "statement")
        shown = [(int(label), text) for kind, label, _, text in elements if kind == "passage"]
        claims: list[dict[str, Any]] = []
        for claim in [c for c in self.waiting if c.side == side]:
            if len(claims) < self.a_side and (numbers := self._cited(claim, shown)):
                claims.append({"text": claim.text, "passages": numbers})
                self.waiting.remove(claim)
                self.offered.append(claim)
        return {"claims": claims}

    def _writtencrux(self, elements: Any) -> Any:
        """'…, while …': what a passage of each side says, and every other time with a figure that neither has."""
        shown = [(int(label), text) for kind, label, _, text in elements if kind == "passage"]
        said = {c.side: c for c in reversed(self.claims) if c.kind == "true" and self._cited(c, shown)}
        if not {"for", "against"} <= said.keys():
            return {"text": "", "passages": []}
        one, other = said["for"], said["against"]
        self.cruxes += 1
        bad = _INVENTED if self.cruxes % 2 == 0 else ""
        halves = one.text.rstrip("."), other.text[:1].lower() + other.text[1:].rstrip(".")
        written = Written(
            text=f"{halves[0]}, while {halves[1]}{bad}.", kind="number" if bad else "true", side="both",
            pages=(*one.pages, *other.pages),
        )  # fmt: skip
        self.crux = written
        return {"text": written.text, "passages": [*self._cited(one, shown)[:1], *self._cited(other, shown)[:1]]}

    def _cited(self, claim: Written, shown: Sequence[tuple[int, str]]) -> list[int]:
        """The numbers of the passages that the claim is taken from; none where they were not shown."""
        texts = {p.id: _plain(p.text) for p in self.pages}
        if not any(key in texts for key in claim.pages):
            return [_NOBODYS]
        cited = [(n, t) for n, t in shown if any(t in texts.get(key, "") for key in claim.pages)]
        cited = sorted(cited, key=lambda c: -content_overlap(claim.text, c[1]))[:_CITED]
        whole = content_overlap(claim.text, " ".join(texts.get(key, "") for key in claim.pages))
        enough = content_overlap(claim.text, " ".join(t for _, t in cited)) >= _WHOLE * whole
        return [n for n, _ in cited] if enough else []

    def _errs(self, text: str) -> random.Random | None:
        """Where this answer about the text is a wrong one, what it is drawn by: the same for a seed whenever it is
        asked for the nth time."""
        self.asked[text] += 1
        drawn = random.Random(f"{self.seed}|{self.asked[text]}|{text}")
        return drawn if drawn.random() < _TENTH else None

    def _side_of(self, statement: str) -> str:
        return next(side for side, text in self.statements.items() if text == statement)


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
