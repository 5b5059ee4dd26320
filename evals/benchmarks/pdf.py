"""Libraries that read PDF, compared on pages whose words are known: the samples, set as TeX and as a browser would."""

import io
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from importlib.util import find_spec

from evals.benchmarks.layouts import LAYOUTS, Paper, set_paper
from evals.benchmarks.typeset import Typeset, typeset
from tools.errors import SettingsError

_FILES, _DOCUMENTS = 8, 24  # of each set, and of a file
_PAPERS = 3
_REFERENCES = (
    "Abbott, J. and Lane, P. (2011). Bridges of the upper valley and what came of them. Journal of Towns 4(2), 11-29.",
    "Dale, R. (2019). Voting by post in small places: a study of twelve parishes over thirty years. Harbour Press.",
    "Ellison, M., Ford, T. and Gray, A. (2020). Who counts? Notes on second counts. https://example.org/notes/counts",
    "Hart, L. (1998). A short book.",
    "Ives, N. and Jessop, C. (2004). The price of a bridge. In Papers of the third meeting on roads, pages 201-219.",
)
_WORD = re.compile(r"\w+(?:[-'’]\w+)*")

Reader = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Sample:
    """A PDF with the sentences that it was made of, in their order."""

    data: bytes
    sentences: tuple[str, ...]


def bench_pdf() -> dict[str, dict[str, dict[str, float]]]:
    """For each set of files and each reader that is installed: expected words found in order, sentences found whole
    (line ends apart; both in per cent), and pages a minute of one core's time."""
    return {name: {reader: _figures(samples, read) for reader, read in _readers()} for name, samples in _sets()}


def _figures(samples: Sequence[Sample], read: Reader) -> dict[str, float]:
    found = expected = whole = sentences = pages = 0
    seconds = 0.0
    for sample in samples:
        began = time.process_time()
        text = read(sample.data)
        seconds += time.process_time() - began
        pages += _pages(sample.data)
        wanted = _WORD.findall(" ".join(sample.sentences))
        found += in_order(wanted, _WORD.findall(text))
        expected += len(wanted)
        folded = " ".join(text.split())
        whole += sum(" ".join(sentence.split()) in folded for sentence in sample.sentences)
        sentences += len(sample.sentences)
    return {
        "words_in_order": round(100 * found / expected, 2),
        "sentences_whole": round(100 * whole / sentences, 2),
        "pages_a_minute": round(60 * pages / seconds),
    }


def in_order(wanted: Sequence[str], found: Sequence[str]) -> int:
    """How many of the wanted words are found in their order."""
    matcher = SequenceMatcher(None, wanted, found, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def _pages(data: bytes) -> int:
    return len(re.findall(rb"/Type ?/Page\b", data))


def _readers() -> Iterator[tuple[str, Reader]]:
    yield "steelman", _steelman
    for name, read in (("pypdfium2", _pypdfium2), ("pypdf", _pypdf), ("pdfplumber", _pdfplumber)):
        if find_spec(name) is not None:
            yield name, read


def _steelman(data: bytes) -> str:
    from tools.ingest.pdf import pdf_document

    return pdf_document(data, "a.pdf").text


def _pypdfium2(data: bytes) -> str:
    from pypdfium2 import PdfDocument

    with PdfDocument(data) as file:
        return "\n".join(page.get_textpage().get_text_range() for page in file)


def _pypdf(data: bytes) -> str:
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def _pdfplumber(data: bytes) -> str:
    import pdfplumber

    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    with pdfplumber.open(io.BytesIO(data)) as file:
        return "\n".join(page.extract_text(x_tolerance_ratio=0.15) for page in file.pages)


def _sets() -> Iterator[tuple[str, list[Sample]]]:
    texts = list(_texts())
    header = "The Sample Gazette"
    for name, columns in (("typeset, one column", 1), ("typeset, two columns", 2)):
        styles = [Typeset(columns=columns, header=header, seed=i) for i in range(_FILES)]
        pairs = zip(texts, styles, strict=True)
        yield name, [Sample(typeset(text, style), sentences_of(text)) for text, style in pairs]
    for name, layout in LAYOUTS.items():
        papers = [_paper(text, layout.spaced) for text in texts[:_PAPERS]]
        yield name, [Sample(set_paper(paper, layout), sentences_of(_expected(paper))) for paper in papers]
    try:
        printed = [list(_printed(texts, columns)) for columns in (1, 2)]
    except SettingsError:  # no browser here
        return
    yield "printed by Chromium, one column", printed[0]
    yield "printed by Chromium, two columns", printed[1]


def _texts() -> Iterator[list[tuple[str, str]]]:
    """The texts of the files: headings and paragraphs."""
    from agent.samples import sample_documents

    documents = sample_documents()
    for start in range(0, _FILES * _DOCUMENTS, _DOCUMENTS):
        parts: list[tuple[str, str]] = []
        for document in documents[start : start + _DOCUMENTS]:
            parts.append(("heading", document.title))
            parts += [("paragraph", " ".join(text.split())) for text in document.text.split("\n\n")]
        yield parts


def _paper(text: Sequence[tuple[str, str]], spaced: bool) -> Paper:
    """A text as a paper: with a summary, tables and figures between its paragraphs, and references."""
    made: list[tuple[str, str]] = [("title", "What the towns of the valley chose, and why"), ("across", text[1][1])]
    number = 0
    for i, (form, words) in enumerate(text[2:]):
        number += form == "heading"
        heading = f"{number}. {words.rstrip('.')}"
        made.append((form, (heading.upper() if spaced else heading) if form == "heading" else words))
        if form == "paragraph" and i % 4 == 1:
            made.append(("table", "") if i % 8 == 1 else ("figure", f"Figure {i}. Boats and harvests by year."))
        if i == len(text) // 3:
            made += [("wide", ""), ("across", "Table 9. The votes of the towns, as they were told in the minutes.")]
    made.append(("heading", "REFERENCES" if spaced else "References"))
    return [*made, *(("reference", entry) for entry in _REFERENCES)]


def _expected(paper: Paper) -> list[tuple[str, str]]:
    """What of a paper is to be found in order."""
    return [(form, words) for form, words in paper if form not in ("table", "wide")]


def sentences_of(parts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The sentences of the parts of a text."""
    from tools.language.sentences import split_sentences

    return tuple(sentence for _, text in parts for sentence in split_sentences(text))


def _printed(texts: Sequence[Sequence[tuple[str, str]]], columns: int) -> Iterator[Sample]:
    from evals.benchmarks.browser import chromium

    style = f"main {{ columns: {columns}; hyphens: auto; text-align: justify; font: 10pt serif }}"
    with chromium() as browser:
        page = browser.new_page()
        for text in texts:
            tags = (f"<{tag}>{escape(words)}</{tag}>" for tag, words in _tagged(text))
            page.set_content(
                f"<!doctype html><html lang='en'><style>{style}</style><main>{''.join(tags)}</main></html>"
            )
            yield Sample(page.pdf(format="Letter", display_header_footer=True), sentences_of(text))


def _tagged(text: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for form, words in text:
        yield "h2" if form == "heading" else "p", words
