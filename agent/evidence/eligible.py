"""Which of the passages found may speak in an answer: sentences, in the language of the question, that argue instead of
speaking to whoever writes the answer."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agent.question import is_english
from tools.language.addressed import speaks_to_the_writer
from tools.passages import Passage

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


class Eligible(NamedTuple):
    """The ids that remain, in their order, and what was left out: for its language, titles and ISO 639-1 codes; for
    speaking to the writer of the answer, titles and where they lie."""

    ids: list[int]
    foreign: dict[str, str]
    addressed: dict[str, str]


def eligible(ids: Sequence[int], passages: Mapping[int, Passage], question: str, *, tables: bool = False) -> Eligible:
    """Which of the passages may speak in the answer to the question.

    English questions are answered from English documents and from those whose language is not known. `tables`: also
    rows of tables and captions, which answer questions of fact and argue for nothing.
    """
    found = [passages[i] for i in ids if i in passages and (tables or passages[i].form == "prose")]
    speaking = {p.id for p in found if any(map(speaks_to_the_writer, (p.title, p.section, p.text)))}
    addressed = {p.title or p.document_id: p.url or p.document_id for p in found if p.id in speaking}
    found = [p for p in found if p.id not in speaking]
    if all(p.language in ("", "en") for p in found) or not is_english(_WORD.findall(question)):
        return Eligible([p.id for p in found], {}, addressed)
    foreign = {p.title or p.document_id: p.language for p in found if p.language not in ("", "en")}
    return Eligible([p.id for p in found if p.language in ("", "en")], foreign, addressed)
