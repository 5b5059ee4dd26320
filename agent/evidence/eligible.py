"""Which of the passages found may speak in an answer: sentences, in the language of the question."""

import re
from collections.abc import Mapping, Sequence

from agent.question import is_english
from tools.passages import Passage

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def eligible(
    ids: Sequence[int], passages: Mapping[int, Passage], question: str, *, tables: bool = False
) -> tuple[list[int], dict[str, str]]:
    """The ids that remain, in their order, and what was left out for its language: titles and ISO 639-1 codes.

    English questions are answered from English documents and from those whose language is not known. `tables`: also
    rows of tables and captions, which answer questions of fact and argue for nothing.
    """
    found = [passages[i] for i in ids if i in passages and (tables or passages[i].form == "prose")]
    if all(p.language in ("", "en") for p in found) or not is_english(_WORD.findall(question)):
        return [p.id for p in found], {}
    foreign = {p.title or p.document_id: p.language for p in found if p.language not in ("", "en")}
    return [p.id for p in found if p.language in ("", "en")], foreign
