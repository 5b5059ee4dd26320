"""Text recognition on pages that are pictures, by the program `tesseract` where it is installed."""

import shutil
import subprocess

from tools.errors import SourceError
from tools.ingest.line_ends import Vocabulary
from tools.passages import Block

DOTS_PER_INCH = 200
PAGE_SECONDS = 120.0


def recogniser() -> str:
    """The program's path, or empty."""
    return shutil.which("tesseract") or ""


def recognised(program: str, image: bytes, page: int, name: str) -> list[Block]:
    """The paragraphs of a page, given as a picture. Raises SourceError where the program fails or takes too long."""
    command = [program, "stdin", "stdout", "--dpi", str(DOTS_PER_INCH)]
    try:
        done = subprocess.run(command, input=image, capture_output=True, check=True, timeout=PAGE_SECONDS)
    except (OSError, subprocess.SubprocessError) as exc:
        told = (getattr(exc, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
        why = told[-1] if told else exc
        raise SourceError(
            f"{name}: page {page} is a picture, and text recognition by {program} failed ({why}). "
            "Mend that, or run text recognition on the file first."
        ) from exc
    text = done.stdout.decode(errors="replace").replace("\f", "")
    parts = [[line.strip() for line in part.splitlines() if line.strip()] for part in text.split("\n\n")]
    words = Vocabulary(line for part in parts for line in part)
    return [Block(words.join(part), page=page, last_page=page) for part in parts if part]
