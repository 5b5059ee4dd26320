"""Writes an answer to a file, in the format of its ending."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from agent.answer.model import Answer
from agent.answer.render.html import to_html
from agent.answer.render.markdown import to_markdown
from agent.answer.render.word import to_docx
from tools.errors import InputError, StoreError

_FORMATS: dict[str, Callable[[Answer, bool], bytes]] = {
    ".md": lambda answer, explain: to_markdown(answer, explain=explain).encode(),
    ".html": lambda answer, _: to_html(answer).encode(),
    ".docx": lambda answer, explain: to_docx(answer, explain=explain),
    ".json": lambda answer, _: (answer.model_dump_json(indent=2) + "\n").encode(),
}
ENDINGS = tuple(_FORMATS)


def check_ending(path: Path) -> None:
    """Raises InputError when an answer cannot be written as the ending says, or the folder is missing."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"an answer can be written to a file ending in {', '.join(ENDINGS)}, not to '{path.name}'.")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder '{path.parent}' to write '{path.name}' into. Make it first.")


def write_answer(answer: Answer, path: Path, *, explain: bool = False) -> None:
    """Writes the whole file or nothing: an older file stays until the new one is complete. `explain`: with all that the
    notes tell; JSON always has them, and HTML folded."""
    check_ending(path)
    content = _FORMATS[path.suffix.lower()](answer, explain)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".steelman-") as folder:
            scratch = Path(folder) / path.name
            scratch.write_bytes(content)
            scratch.replace(path)
    except OSError as exc:
        raise StoreError(
            f"'{path}' cannot be written ({exc.strerror}). The answer is kept as run {answer.run_id}."
        ) from exc
