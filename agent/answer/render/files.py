"""An answer into a file whose ending says how."""

import tempfile
from pathlib import Path

from agent.answer.model import Answer
from tools.errors import InputError, StoreError

ENDINGS = (".md", ".html", ".docx", ".json")


def check_ending(path: Path) -> None:
    """Raises InputError when an answer cannot be written as the ending says, or the folder is missing."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"an answer can be written to a file ending in {', '.join(ENDINGS)}, not to '{path.name}'.")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder '{path.parent}' to write '{path.name}' into. Make it first.")


def write_answer(answer: Answer, path: Path) -> None:
    """Writes the whole file or nothing: an older file stays until the new one is complete."""
    check_ending(path)
    content = _bytes(answer, path.suffix.lower())
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".steelman-") as folder:
            scratch = Path(folder) / path.name
            scratch.write_bytes(content)
            scratch.replace(path)
    except OSError as exc:
        raise StoreError(
            f"'{path}' cannot be written ({exc.strerror}). The answer is kept as run {answer.run_id}."
        ) from exc


def _bytes(answer: Answer, ending: str) -> bytes:
    if ending == ".md":
        from agent.answer.render.markdown import to_markdown

        return to_markdown(answer).encode()
    if ending == ".html":
        from agent.answer.render.html import to_html

        return to_html(answer).encode()
    if ending == ".docx":
        from agent.answer.render.word import to_docx

        return to_docx(answer)
    return (answer.model_dump_json(indent=2) + "\n").encode()
