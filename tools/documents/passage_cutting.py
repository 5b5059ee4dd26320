"""Cuts documents into passages of about a hundred words: whole sentences of one section, page and speaker."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tools.documents.bylines import is_head_line
from tools.language.person_names import pattern
from tools.language.sentences import SENTENCE_END, clean_text, split_sentences
from tools.limits import PASSAGE_WORDS
from tools.passages import Block, PassageForm, PassageText, SourceDocument


def cut_passages(text: str) -> list[str]:
    """Returns passages of about PASSAGE_WORDS words that end with sentences. A sentence that is too long is cut at a
    word. A rest of less than a quarter of a passage joins the previous passage. A line without a sentence end (a
    headline, a list item) stays a line."""
    # Joins wrapped lines. An empty line or a sentence end still ends a line.
    joined = re.sub(r"(?<![.!?:;\n\"'”’)\]])\n(?=[a-z(])", " ", clean_text(text))
    pieces = list(passage_pieces(joined))
    return [join_pieces(pieces[first:end]) for first, end in pack_pieces(pieces)]


def passage_pieces(text: str) -> Iterator[str]:
    """Yields sentences, and parts of sentences that are too long. A piece without a sentence end gets a line end."""
    for sentence in split_sentences(text):
        pieces = list(split_long_sentence(sentence))
        if not SENTENCE_END.search(sentence):
            pieces[-1] += "\n"
        yield from pieces


def pack_pieces(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Packs pieces into passages. Returns the index of each passage's first piece, and the index after its last."""
    lengths = [len(piece.split()) for piece in pieces]
    starts: list[int] = []
    for i, length in enumerate(lengths):
        if not starts or sum(lengths[starts[-1] : i]) + length / 2 > PASSAGE_WORDS:
            starts.append(i)
    if len(starts) > 1 and sum(lengths[starts[-1] :]) < PASSAGE_WORDS / 4:
        starts.pop()
    return list(zip(starts, [*starts[1:], len(pieces)], strict=True)) if starts else []


def join_pieces(pieces: Sequence[str]) -> str:
    return " ".join(pieces).replace("\n ", "\n").rstrip()


def split_long_sentence(sentence: str) -> Iterator[str]:
    """Yields the sentence. If it is too long, yields its parts, cut between words."""
    words = sentence.split()
    for start in range(0, len(words), PASSAGE_WORDS):
        yield " ".join(words[start : start + PASSAGE_WORDS])


BULLET = "-"  # unlike a round bullet, it lets sentencex find the sentences
_MOST_GROUPED_SENTENCES = 3  # sentences kept together, because only the first names the speaker
_FORMS: dict[str, PassageForm] = {"table": "table", "caption": "caption"}


def cut_document(document: SourceDocument) -> list[PassageText]:
    """Returns the passages of a document in order, without repetitions. A passage has one section, one form and one
    speaker. A passage ends with its page unless a paragraph continues. Passages exclude headings, because a judge would
    take headings for claims. List items begin with a bullet. `tools.language.sentences` removes the bullet."""
    once: dict[tuple[str, str], PassageText] = {}
    own = "" if document.title else document.author  # an untitled document is a message, said by its author
    texts = (PassageText(text, speaker=own) for text in cut_passages(document.text))
    for passage in _block_passages(document) or texts:
        once.setdefault((passage.text, passage.speaker), passage)
    return list(once.values())


def _block_passages(document: SourceDocument) -> list[PassageText]:
    passages: list[PassageText] = []
    for (section, form, *_), blocks in groupby(_placed_blocks(document), key=lambda placed: placed[:-1]):
        own = [block for *_, block in blocks]
        pack = _prose_passages if form == "prose" else _row_passages
        told = section == document.title or (section.startswith(document.title) and is_head_line(section))
        passages += pack(own, "" if told else section, form)
    return passages


def _placed_blocks(document: SourceDocument) -> Iterator[tuple[str, PassageForm, bool, int, str, Block]]:
    """Yields section, form, whether it is a note, page and speaker before each block that is no heading."""
    section = ""
    for block in document.blocks:
        if block.form == "heading":
            section = block.text
        else:
            yield section, _FORMS.get(block.form, "prose"), block.form == "note", block.page, block.speaker, block


def _prose_passages(blocks: Iterable[Block], section: str, form: PassageForm) -> Iterator[PassageText]:
    pieces = [(piece, block) for block in blocks for piece in _block_pieces(block)]
    starts: list[int] = []
    for i, (piece, _) in enumerate(pieces):
        leans = i and i - starts[-1] < _MOST_GROUPED_SENTENCES and pattern("LEANING").match(piece)
        starts += [] if leans else [i]
    ends = [*starts[1:], len(pieces)]
    groups = [join_pieces([piece for piece, _ in pieces[i:j]]) for i, j in zip(starts, ends, strict=True)]
    for first, last in pack_pieces(groups):
        part = pieces[starts[first] : ends[last - 1]]
        yield _passage([piece for piece, _ in part], [b for _, b in part], section, form)


def _block_pieces(block: Block) -> list[str]:
    """Returns the sentences of a block. A list item begins with a bullet and ends with a line end."""
    pieces = list(passage_pieces(block.text))
    if block.form == "item" and pieces:
        pieces[0] = f"{BULLET} {pieces[0]}"
        pieces[-1] = pieces[-1].rstrip("\n") + "\n"
    return pieces


def _row_passages(blocks: Iterable[Block], section: str, form: PassageForm) -> Iterator[PassageText]:
    """Yields a passage for each table or caption. A long table is split between rows."""
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
