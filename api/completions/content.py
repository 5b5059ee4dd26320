"""The answer as a message: Markdown, with the source behind each number as an annotation."""

import re

from openai.types import CompletionUsage
from openai.types.chat.chat_completion_message import Annotation, AnnotationURLCitation

from agent.answer.model import Answer, Citation
from agent.answer.render.markdown import title, to_markdown
from agent.answer.render.words import plain

_NUMBER = re.compile(r"\[(\d+)\]")
"""A number of ours: in all other texts both brackets have a backslash before them."""

NO_TOKENS = CompletionUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
NOT_READ = (
    "> What your app sent along (documents, search results) was not read: Steelman quotes its own collections and "
    "searches. Add documents to a collection to have them cited."
)


def opening_of(question: str, aside: bool) -> str:
    """The document's first lines, known before there is an answer. `aside`: passages were sent along."""
    return "\n\n".join([title(question), NOT_READ, ""] if aside else [title(question), ""])


def content_of(answer: Answer, base: str, aside: bool = False) -> tuple[str, list[Annotation]]:
    """The text, and for each number in it its source, by their place in characters. `base` is this server's address as
    the caller knows it, for sources that have none of their own."""
    content = to_markdown(answer, remote=True).rstrip("\n")
    content = opening_of(answer.question, aside) + content.removeprefix(opening_of(answer.question, False))
    sources = {c.number: c for c in answer.citations}
    here = f"{base}/v1/runs/{answer.run_id}/citations"
    return content, [_annotation(match, sources[int(match[1])], here) for match in _NUMBER.finditer(content)]


def usage_of(answer: Answer) -> CompletionUsage:
    read, wrote = answer.usage.input_tokens, answer.usage.output_tokens
    return CompletionUsage(prompt_tokens=read, completion_tokens=wrote, total_tokens=read + wrote)


def _annotation(place: re.Match[str], source: Citation, here: str) -> Annotation:
    address = plain(source.url)
    own = address.startswith(("https://", "http://"))
    return Annotation(
        type="url_citation",
        url_citation=AnnotationURLCitation(
            url=address if own else f"{here}/{source.number}",
            title=plain(source.title or source.publisher or source.document_id),
            start_index=place.start(),
            end_index=place.end(),
        ),
    )
