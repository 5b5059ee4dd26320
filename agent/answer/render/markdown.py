"""The answer as Markdown."""

import re
from itertools import groupby

from agent.answer.model import Answer
from agent.answer.render.outline import Block, ending, opening, perspective, sources
from agent.answer.render.words import ADD_SOURCES, MORE, closing, numbers, plain, shown, words_behind

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")
_FORMS = {
    "title": "# {}",
    "head": "## {}",
    "note": "> {}",
    **dict.fromkeys(("strength", "may_speak"), "*{}*"),
    **dict.fromkeys(("plain", "case", "leaning", "more", "nearest"), "- {}"),
}
_LISTS = {
    "plain": [],
    "case": [],
    "leaning": [],
    "source": ["## Sources", ""],
    "more": [f"## {MORE}", ""],
    "nearest": ["Nearest sample questions:", ""],
}
"""Kinds without an empty line between their blocks, and what stands above the first one."""


def to_markdown(answer: Answer, *, remote: bool = False, explain: bool = False) -> str:
    """A document of headings, bullets and a numbered list of sources; text from sources is escaped.

    So a bracket without a backslash is one of ours: '[2]' stands for source 2. `remote`: for a reader who is at another
    machine: with the run's whole id, and without a command to type. `explain`: with all that the notes tell.
    """
    answer = shown(answer)
    sides = (block for side in answer.perspectives for block in perspective(answer, side))
    blocks = [*opening(answer), *sides, *sources(answer), *ending(answer, explain)]
    lines: list[str] = []
    for kind, group in groupby(blocks, key=lambda b: b.kind):
        items = [_lines(answer, block) for block in group]
        if kind in _LISTS:
            lines += [*_LISTS[kind], *(line for item in items for line in item), ""]
        else:
            lines += [line for item in items for line in (*item, "")]
    lines.append(escape(closing(answer, whole_id=remote)))
    lines += [] if remote else ["", f"More sources: `{ADD_SOURCES}`"]
    return "\n".join(lines) + "\n"


def title(question: str) -> str:
    """The document's first line, known before there is an answer."""
    return f"# {escape(plain(question))}"


def escape(text: str) -> str:
    """Text that Markdown shows as it is: nothing in it becomes a link, an image, HTML or a heading."""
    return _BLOCK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _lines(answer: Answer, block: Block) -> list[str]:
    text = escape(block.marked)
    if block.source:
        behind = (f"   - “{escape(words)}”" for words in words_behind(answer, block.source))
        return [f"{block.source.number}. {text}", *behind]
    cited = text if block.citations is None else f"{text} {numbers(block.citations)}"
    return [_FORMS.get(block.kind, "{}").format(cited)]
