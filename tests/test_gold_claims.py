"""Which claims of a chat model does the agent show? A scripted model writes true and bad claims.

`tests/gold_claims` has three topics, 72 pages of known sides and 210 claims about them. Half are true. The others are
bad in one of nine ways: a number altered, a claim invented, a page that does not exist, another page's claim, a clause
added, a negation, an address, markup, words to the reader. A scripted model plans, writes these claims, judges passages
and checks claims in whole runs. How it judges:

right     by the gold
all       passages by the gold; it finds every claim said and fit
tenth     wrong about a random tenth of the passages and of the claims
first     right, but the first passage of a call speaks for the first side
favour    right, but mixed passages speak for the first side of the call
embedded  it checks claims only: the embedded judge judges passages

`pytest tests/test_gold_claims.py -m slow -s` prints the figures of docs/results.md.
"""

import json
import random
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from answering_model import check_reply
from model_replies import Body as Json
from model_server import ModelServer, Reply

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from evals.metrics.measure import Ratio
from tools.documents.ingest import Ingester
from tools.language.grounding import stems
from tools.passages import SourceDocument

GOLD = Path(__file__).parent / "gold_claims"
JUDGES = ("right", "all", "tenth", "first", "favour", "embedded")
LOST = {"dev": 2, "last": 1}  # true claims at most, of 47 and 49
# Bad claims at most, of 53 and 51; of the other judges none. Of one that errs 1.8 are expected, by six seeds.
SHOWN = {("dev", "all"): 12, ("last", "all"): 12, ("dev", "tenth"): 4, ("last", "tenth"): 4}  # about 1.5 in the mean
_ELEMENT = re.compile(r'<(side|passage|claim|statement)(?: (?:label|number)="(\w+)")?[^>]*>(.*?)</\1>', re.DOTALL)
_LINE = re.compile(r"(?:^|<document[^>]*>)\[(\w+)\] (.*?)(?:</document>)?$", re.MULTILINE)  # a passage in a document
_CITES = re.compile(r'<claim label="(\w+)" cites="([\w ]*)"')


def rows(name: str) -> list[Json]:
    return [json.loads(line) for line in (GOLD / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


class Script:
    """The model on one topic. waiting: claims not written yet; offered: those of the present run."""

    def __init__(self, topic: Json, claims: list[Json], manner: str) -> None:
        self.question, self.sides = topic["question"], {topic[side]: side for side in ("for", "against")}
        self.pages = {
            p["id"]: p | {"plain": " ".join(p["text"].split())} for p in rows("pages") if p["topic"] == topic["topic"]
        }
        self.claims, self.waiting, self.manner = claims, list(claims), manner
        self.offered: list[Json] = []
        self.crux: list[tuple[str, bool]] = []
        self.runs = self.cruxes = 0
        self.asked, self.lock = Counter[str](), Lock()

    def begin(self) -> list[Json]:
        """The pages of a run: all, then those of the claims left, since of many pages a writer is shown some."""
        wanted = {key for c in self.waiting for key in c["pages"]}
        pages = [p for p in self.pages.values() if not self.runs or p["id"] in wanted]
        self.offered, self.crux, self.runs = [], [], self.runs + 1
        return pages

    def __call__(self, body: Json) -> Reply:
        found: dict[str, dict[str, str]] = {name: {} for name in ("side", "passage", "claim", "statement")}
        prompt = body["messages"][-1]["content"]
        for name, label, text in _ELEMENT.findall(prompt):
            found[name].setdefault(label, " ".join(unescape(text).split()))
        found["passage"] |= {label: " ".join(unescape(text).split()) for label, text in _LINE.findall(prompt)}
        found["cites"] = dict(_CITES.findall(prompt))
        with self.lock:  # it keeps count of what it has said, and calls come side by side
            said = getattr(self, body["response_format"]["json_schema"]["name"].lower())(**found)
        return Reply(said, usage=(len(prompt) // 4, 9))  # by words a prompt may look cut

    def plannedquestion(self, **_: Any) -> Json:
        stances = {"for": "supports", "against": "opposes"}
        sides = [{"name": s, "statement": t, "stance": stances[s]} for t, s in self.sides.items()]
        asked = {"form": "polar", "question": self.question, "language": "English", "focus": ""}
        return {**asked, "perspectives": sides}

    def plannedqueries(self, statement: Json, **_: Any) -> Json:
        return {"queries": [f"{how} {statement['']}" for how in ("evidence that", "reasons why")]}

    def verdicts(self, side: Json, passage: Json, **_: Any) -> Json:
        labels, said = {self.sides[text]: label for label, text in side.items() if text in self.sides}, []
        stray: list[str] = []
        for place, (label, text) in enumerate(passage.items()):
            known = next((p["side"] for p in self.pages.values() if alike(text, p["plain"])), "stray")
            if drawn := self.errs(text):
                known = drawn.choice([s for s in ("for", "against", "stray") if s != known])
            if (self.manner == "first" and place == 0) or (self.manner == "favour" and known == "mixed"):
                known = next(iter(labels))
            of = [labels[s] for s in labels if known in (s, "mixed")]
            weak = of if known == "mixed" else []
            said += [{"passage": label, "for": of, "against": [], "weak": weak}] if of else []
            stray += [] if of else [label]
        return {"verdicts": said, "no_side": stray, "off_question": []}

    def writtencase(self, statement: Json, passage: Json, **_: Any) -> Json:
        of = [c for c in self.waiting if c["side"] == self.sides[statement[""]]]
        written = [(c, cited) for c in of if (cited := self.cited(c, passage))][:12]
        self.offered += [c for c, _ in written]
        self.waiting = [c for c in self.waiting if c not in self.offered]
        usual = {"reason": ""}
        return {"claims": [{"text": c["text"], "passages": cited, **usual} for c, cited in written]}

    def checkedclaims(self, claim: Json, passage: Json, cites: Json, **_: Any) -> Json:
        true: Json = {c["text"]: c for c in self.offered if c["kind"] == "true"}
        true |= {text: None for text, good in self.crux if good}
        said = []
        for label, text in claim.items():
            cited = [passage[p] for p in cites[label].split()]
            sound = text in true and (true[text] is None or any(self.holds(true[text], words) for words in cited))
            yes = (sound ^ bool(self.errs(text))) or self.manner == "all"
            word = dict.fromkeys(("said", "serves"), "yes" if yes else "no")
            said.append({"claim": label, **word, "corrected": ""})
        return check_reply(said)

    def holds(self, claim: Json, passage: str) -> bool:
        """Whether a passage is of one of the claim's pages."""
        return any(alike(passage, self.pages[key]["plain"]) for key in claim["pages"] if key in self.pages)

    def writtencrux(self, claim: Json, **_: Any) -> Json:
        """A true claim of each side joined; every second time with a figure that neither side's passages have."""
        known = {c["text"]: c for c in self.claims if c["kind"] == "true"}
        true = {known[text]["side"]: (int(n), text) for n, text in reversed(claim.items()) if text in known}
        if len(true) < 2:
            return {"text": "", "claims": []}
        one, other = (true[side][1].rstrip(".") for side in ("for", "against"))
        good, self.cruxes = self.cruxes % 2 == 0, self.cruxes + 1
        invented = "" if good else ", as 9,417 people were asked to confirm"
        self.crux.append((f"{one}, while {other[:1].lower()}{other[1:]}{invented}.", good))
        return {"text": self.crux[-1][0], "claims": [n for n, _ in true.values()]}

    def cited(self, claim: Json, shown: dict[str, str]) -> list[int]:
        """The numbers of the passages that the claim was made from; none where they hold less of it than its pages."""
        pages = [self.pages[key]["plain"] for key in claim["pages"] if key in self.pages]
        if not pages:
            return [99]  # a passage that nobody has shown
        of = [(int(number), text) for number, text in shown.items() if any(alike(text, page) for page in pages)]
        of = sorted(of, key=lambda c: -content_overlap(claim["text"], c[1]))[:3]
        whole, found = (content_overlap(claim["text"], " ".join(of)) for of in (pages, [text for _, text in of]))
        return [number for number, _ in of] if found >= 0.9 * whole else []

    def errs(self, text: str) -> random.Random | None:
        """Draws a wrong answer for a tenth of them: the same whenever a text is asked about for the nth time."""
        self.asked[text] += 1
        drawn = random.Random(f"1|{self.asked[text]}|{text}")
        return drawn if self.manner == "tenth" and drawn.random() < 0.1 else None


def content_overlap(claim: str, passage: str) -> float:
    """Share of the claim's different stems that occur in the passage, 0 to 1."""
    asked = {*stems(claim)}
    return len(asked.intersection(stems(passage))) / max(1, len(asked))


def alike(passage: str, page: str) -> bool:
    """Whether a passage, shown without its headings, is of the page."""
    words = set(passage.split())
    return len(words & set(page.split())) >= 0.95 * len(words)


async def ask(runs: Runs, topic: Json, pages: Sequence[Json], collection: str) -> Answer:
    documents = [SourceDocument(p["id"], p["text"], title=p["title"], publisher=p["publisher"]) for p in pages]
    Ingester(runs.store, runs.providers.search, runs.providers.search.encoder).ingest(documents, collection)
    options = RunOptions.of("normal", collections=(collection,), web=False, claims_per_side=6, deadline_seconds=300.0)
    return await runs.answer(await runs.start(topic["question"], options))


def counted(script: Script, pages: Sequence[Json], answer: Answer) -> Iterator[tuple[str, int]]:
    shown = {c.text for side in answer.perspectives for c in side.claims}
    for claim in script.offered:
        yield "kept" if claim["kind"] == "true" else "bad", claim["text"] in shown
        if (claim["text"] in shown) != (claim["kind"] == "true"):
            print(f"  {script.manner} errs on a claim ({claim['kind']}): {claim['text']}")
    for text, good in script.crux[-1:]:
        yield "crux" if good else "bad crux", answer.crux is not None and answer.crux.text == text
    for side in answer.perspectives:
        of = ({"supports": "for", "opposes": "against"}.get(side.stance, ""), "mixed")
        if side.stance != "other" and sum(p["side"] in of for p in pages) >= 6:
            yield "claims", len(side.claims)


@pytest.mark.slow
@pytest.mark.timeout(900)  # a quarter of a minute for each case, and many times that on a busy machine
@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize(("half", "judge"), [*product(LOST, JUDGES)])
async def test_true_claims_are_kept(half: str, judge: str) -> None:
    found = {n: list[tuple[str, int, int]]() for n in ("kept", "bad", "claims", "crux", "bad crux")}
    scripts, spent = list[Script](), list[tuple[int, int]]()
    with ModelServer() as server:
        server.on("", lambda body: scripts[-1](body))
        model, judges = f"scripted-{uuid.uuid4().hex[:8]}", "embedded" if judge == "embedded" else "batch"
        given = load_settings(model=model, provider="chat", judge=judges, openai_base_url=server.url, web="off")
        async with Runs(given) as runs:  # verdicts are kept by the model's name
            for topic in rows("topics"):
                claims = [c for c in rows("claims") if (c["topic"], c["half"]) == (topic["topic"], half)]
                scripts.append(script := Script(topic, claims, judge))
                while script.waiting and script.runs < 8 and (script.offered or not script.runs):
                    pages, run = script.begin(), f"{topic['topic']} {script.runs}"
                    server.requests.clear()
                    answer = await ask(runs, topic, pages, run.replace(" ", "-"))
                    for name, holds in counted(script, pages, answer):
                        found[name].append((run, holds, 1))
                    if script.runs == 1:
                        spent.append((len(server.requests), sum(len(r.text) for r in server.requests) // 4))
    for name, of in found.items():
        ratio = Ratio.of(of)
        ends = ", ".join(f"{end:.2f}" for end in ratio.interval())
        print(f"{half} {judge}: {name} {sum(n for _, n, _ in of)} / {len(of)} = {ratio.value:.2f} [{ends}]")
    print(f"{half} {judge}: calls and tokens of each topic {spent}")
    wrong = {name: sum(holds == (name in ("bad", "bad crux")) for _, holds, _ in of) for name, of in found.items()}
    errs = judge in ("tenth", "first", "favour")  # then chance has more to say, and sides are searched again
    assert (wrong["kept"] <= LOST[half], wrong["bad"] <= SHOWN.get((half, judge), 0)) == (True, True)
    assert not wrong["bad crux"]
    assert wrong["crux"] <= 1 + 2 * errs
    assert len(found["kept"] + found["bad"]) >= (60 if judge == "embedded" else 85)
    # Each call has the sides in a random order, by which `favour` sends the mixed pages to either: up to 34,060 tokens.
    assert all(calls <= (30 if errs else 14) and tokens <= (36_000 if errs else 34_000) for calls, tokens in spent)
