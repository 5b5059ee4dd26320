"""Documents that are put into a collection while the page is looked at: one upload at a time, in a thread."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.commands.ingest import read_pages
from agent.runs.parts import reading_limits
from agent.settings import Settings
from tools.documents.document import InputFile
from tools.documents.ingest import Ingester, IngestReport, read_all
from tools.errors import InputError, SteelmanError
from tools.passages import SourceDocument
from tools.store.hybrid import HybridSearch
from tools.store.store import SAMPLES, Store


@dataclass
class Upload:
    """An upload as it goes. `error`: why it ended before its end; what was stored until then stays."""

    collection: str
    total: int  # files and addresses
    report: IngestReport = field(default_factory=IngestReport)
    error: str = ""
    ended: bool = False


class Uploads:
    """A person's uploads into the store; where nobody logs in, those of whoever looks at the page."""

    def __init__(
        self, settings: Settings, store: Store, search: HybridSearch, named: Callable[[str], str] = str
    ) -> None:
        """named: what the store calls a collection of theirs."""
        self._settings, self._store, self._search, self._named = settings, store, search, named
        self.latest: Upload | None = None

    def begin(self, files: Sequence[tuple[str, bytes]], addresses: Sequence[str], collection: str) -> Upload:
        """Starts to read the files, by name and content, and the pages at the addresses.

        Raises InputError for nothing to read, another collection's name than one can have, or while one goes on.
        """
        if not files and not addresses:
            raise InputError("choose a file, or paste an address that begins with http:// or https://.")
        if (collection := collection.strip()) in ("", SAMPLES):
            raise InputError("give the collection a name of its own; 'samples' is Steelman's.")
        if self.latest is not None and not self.latest.ended:
            raise InputError("an upload is going on. Wait for its end, then add more.")
        self._store.check_name(name := self._named(collection))
        folder = Path(tempfile.mkdtemp(prefix="steelman-upload-"))
        kept: list[InputFile] = []
        for number, (sent, content) in enumerate(files):
            path = folder / f"{number}{Path(sent).suffix.lower()}"
            path.write_bytes(content)
            kept.append(InputFile(path, sent, sent))  # a file of this name replaces the one that was sent before
        self.latest = Upload(name, len(kept) + len(addresses))
        threading.Thread(target=self._work, args=(self.latest, folder, kept, addresses), daemon=True).start()
        return self.latest

    def _work(self, upload: Upload, folder: Path, files: Sequence[InputFile], addresses: Sequence[str]) -> None:
        try:
            documents = self._documents(upload, files, addresses)
            ingester = Ingester(self._store, self._search, self._search.encoder)
            ingester.ingest(documents, upload.collection, report=upload.report)
        except SteelmanError as exc:
            upload.error = str(exc)
        finally:
            upload.ended = True
            shutil.rmtree(folder, ignore_errors=True)

    def _documents(
        self, upload: Upload, files: Sequence[InputFile], addresses: Sequence[str]
    ) -> Iterator[SourceDocument]:
        yield from read_all(files, upload.report, limits=reading_limits(self._settings))
        if addresses:
            upload.report.reading, upload.report.begun = "web pages", upload.total
            yield from asyncio.run(read_pages(addresses, upload.report.problems))
