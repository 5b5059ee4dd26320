"""Cuts a document into passages that know where they stand: below which heading, on which pages, prose or table."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from tools.language.names import pattern
from tools.language.sentences import (
    PASSAGE_WORDS,
    cut_passages,
    join_pieces,
    pack_pieces,
    pieces_of,
    split_long_sentence,
)
from tools.passages import Block, PassageForm, PassageText, SourceDocument

BULLET = "-"  # sentencex finds no sentences after a rounder one
_TOGETHER = 3  # sentences at most that stay together because only the first names who says them
_FORMS: dict[str, PassageForm] = {"table": "table", "caption": "caption"}


def cut_document(document: SourceDocument) -> list[PassageText]:
    """The passages of a document in order; what it repeats, it says once.

    No passage goes on below another heading, or over the end of a page unless its paragraph does, and none mixes
    speakers, or sentences with rows of a table. Headings are in no
    passage's text: a judge would take their words for a claim. Items of lists begin with a bullet, which
    `tools.language.sentences` takes off again.
    """
    once: dict[tuple[str, str], PassageText] = {}
    own = "" if document.title else document.author  # a message: what it reports of others is its author's word
    texts = (PassageText(text, speaker=own) for text in cut_passages(document.text))
    for passage in _of_blocks(document) or texts:
        once.setdefault((passage.text, passage.speaker), passage)
    return list(once.values())


def _of_blocks(document: SourceDocument) -> list[PassageText]:
    passages: list[PassageText] = []
    for (section, form, *_), blocks in groupby(_placed(document), key=lambda placed: placed[:-1]):
        own = [block for *_, block in blocks]
        pack = _prose if form == "prose" else _rows
        passages += pack(own, "" if section == document.title else section, form)
    return passages


def _placed(document: SourceDocument) -> Iterator[tuple[str, PassageForm, bool, int, str, Block]]:
    """Every block but the headings: its section, form, whether it is a note, its page, its speaker, itself."""
    section = ""
    for block in document.blocks:
        if block.form == "heading":
            section = block.text
        else:
            yield section, _FORMS.get(block.form, "prose"), block.form == "note", block.page, block.speaker, block


def _prose(blocks: Iterable[Block], section: str, form: PassageForm) -> Iterator[PassageText]:
    pieces = [(piece, block) for block in blocks for piece in _pieces(block)]
    starts: list[int] = []
    for i, (piece, _) in enumerate(pieces):
        leans = i and i - starts[-1] < _TOGETHER and pattern("LEANING").match(piece)
        starts += [] if leans else [i]
    ends = [*starts[1:], len(pieces)]
    groups = [join_pieces([piece for piece, _ in pieces[i:j]]) for i, j in zip(starts, ends, strict=True)]
    for first, last in pack_pieces(groups):
        part = pieces[starts[first] : ends[last - 1]]
        yield _passage([piece for piece, _ in part], [b for _, b in part], section, form)


def _pieces(block: Block) -> list[str]:
    """Its sentences; those of an item begin with a bullet and end with the line, so that it is seen to be one."""
    pieces = list(pieces_of(block.text))
    if block.form == "item" and pieces:
        pieces[0] = f"{BULLET} {pieces[0]}"
        pieces[-1] = pieces[-1].rstrip("\n") + "\n"
    return pieces


def _rows(blocks: Iterable[Block], section: str, form: PassageForm) -> Iterator[PassageText]:
    """Each table or caption by itself; a long table in parts of whole rows."""
    for block in blocks:
        part: list[str] = []
        for row in (piece for line in filter(None, block.text.split("\n")) for piece in split_long_sentence(line)):
            if part and sum(len(r.split()) for r in part) + len(row.split()) > PASSAGE_WORDS:
                yield _passage(part, [block], section, form)
                part = []
            part.append(f"{row}\n")
        yield _passage(part, [block], section, form)


def _passage(pieces: list[str], blocks: list[Block], section: str, form: PassageForm) -> PassageText:
    first, last = blocks[0].page, max(max(b.page, b.last_page) for b in blocks)
    return PassageText(join_pieces(pieces), section, form, first, last, blocks[0].speaker)
