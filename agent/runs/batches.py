"""The runs of a batch whose answers are not written to its file yet: one that was killed goes on with them."""

from collections.abc import Iterable
from pathlib import Path

from agent.runs.store import RunRow, run_row
from tools.store.database import Database


class BatchRuns:
    """The runs that are to be answered into one file."""

    def __init__(self, database: Database, file: Path) -> None:
        self._db = database
        self.name = str(file.resolve())
        """Under which the runs are kept."""

    def unwritten(self) -> dict[str, RunRow]:
        """The newest run of each question whose answer is not known to stand in the file."""
        query = "SELECT * FROM runs WHERE batch = ? ORDER BY created_at, rowid"
        return {row["question"]: run_row(row) for row in self._db.rows(query, (self.name,))}

    def written(self, run_ids: Iterable[str]) -> None:
        """The answers of these runs stand in the file."""
        with self._db.write() as db:
            query = "UPDATE runs SET batch = '' WHERE id = ? AND batch = ?"
            db.executemany(query, [(run_id, self.name) for run_id in run_ids])

    def forget(self) -> None:
        """The file is begun anew, and so are its questions."""
        with self._db.write() as db:
            db.execute("UPDATE runs SET batch = '' WHERE batch = ?", (self.name,))
