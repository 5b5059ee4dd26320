"""Citations: each speaker of a cited document gets one number, in order of use."""

from dataclasses import dataclass, field

from agent.answer.model import Citation, Quotation, shared_fields
from agent.state import Claim
from tools.language.speech import reported_speaker
from tools.passages import Passage
from tools.store.store import SAMPLES


@dataclass
class Numbering:
    """Gives each speaker of a cited document one number, in order of use."""

    passages: dict[int, Passage]
    citations: dict[tuple[tuple[str, str], str], Citation] = field(default_factory=dict)
    uses: set[tuple[int, str, bool, int]] = field(default_factory=set)
    """Passages that claims of perspectives cite: the passage, the perspective, whether against it, the number."""

    def cite(self, claim: Claim) -> list[int]:
        quotes = claim.get("evidence") or [claim["text"]] * len(claim["passages"])
        numbers = [self._number(self.passages[i], q, claim) for i, q in zip(claim["passages"], quotes, strict=True)]
        where = claim["perspective"], claim.get("objection", False)
        self.uses |= {(i, *where, n) for i, n in zip(claim["passages"], numbers, strict=True) if claim["perspective"]}
        return list(dict.fromkeys(numbers))

    def answered_by(self, claim: Claim) -> list[int]:
        """The numbers by which claims that stand elsewhere cite the passage that the claim answers."""
        own, answered = (claim["perspective"], claim.get("objection", False)), claim.get("answers")
        cited = {n for i, *_, n in self.uses if i in claim["passages"]}
        return sorted({n for i, *where, n in self.uses if i == answered and tuple(where) != own} - cited)

    def _number(self, passage: Passage, quote: str, claim: Claim) -> int:
        key = passage.document, speaker_of(passage, quote)
        support = None if claim["role"] in ("also", "crux") else round(claim["support"], 3)
        known = self.citations.get(key)
        if known is None:
            self.citations[key] = citation_of(len(self.citations) + 1, passage, quote, support)
        elif (passage.id, quote) not in {
            (known.passage_id, known.quote),
            *((q.passage_id, q.quote) for q in known.more),
        }:
            where = shared_fields(passage, Quotation) | {"speaker": known.speaker}
            extra = Quotation(passage_id=passage.id, quote=quote, support=support, **where)
            self.citations[key] = known.model_copy(update={"more": [*known.more, extra]})
        return self.citations[key].number


def speaker_of(passage: Passage, quote: str) -> str:
    """Who says the quote: the passage's speaker, else whom it reports to say it, else the document's author."""
    return passage.speaker or reported_speaker(quote, passage.text) or passage.author


def citation_of(number: int, passage: Passage, quote: str, support: float | None) -> Citation:
    """The passage's document as a source with that number."""
    sample = passage.collection == SAMPLES
    known = shared_fields(passage, Citation) | {"speaker": speaker_of(passage, quote)}
    return Citation(number=number, passage_id=passage.id, quote=quote, support=support, sample=sample, **known)
