"""Documents for processes that are killed, and what is lost, doubled or missed of them in a data folder afterwards."""

import random
import signal
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tools.errors import SteelmanError
from tools.inference.encoders.encoder import load_encoder
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.dense import DenseIndex
from tools.store.documents import PreparedDocument
from tools.store.hybrid import HybridSearch
from tools.store.lexical import LexicalIndex
from tools.store.store import Store

_WORDS = (
    "anchor barley candle desert engine falcon garden harbour island jacket kettle lantern marble needle orchard "
    "pepper quarry ribbon saddle timber umbrella violin walnut yoghurt bishop copper dragon elbow feather glacier "
    "hammer insect jungle kitchen ladder mirror nettle oyster parrot rabbit salmon tunnel uncle velvet window"
).split()
_MOST = 1_000_000


def text_of(name: str, state: int) -> str:
    """One sentence, which no other document and no other state of this one is near to."""
    words = random.Random(f"{name} {state}").sample(_WORDS, 6)
    return f"The {words[0]} and the {' '.join(words[1:])} belong to document {name} in its state {state}."


def kill(process: "subprocess.Popen[bytes]") -> bool:
    """Kills the process; False where it had ended by itself, and so was not at work."""
    process.kill()  # nothing to a process that has ended
    return process.wait() == -signal.SIGKILL


class Opened:
    """The store of a data folder and its search with the embedded encoder, as a process has them."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "steelman.db")
        self.store = Store(self.database)
        self.encoder = load_encoder(folder / "cache")
        self.search = HybridSearch(self.store, folder / "index", self.encoder)

    def put(self, collection: str, texts: Mapping[str, str]) -> None:
        """Replaces the documents of these names by these texts, a passage each."""
        vectors = self.encoder.encode(list(texts.values()))
        made = [
            PreparedDocument(SourceDocument(name, text), (PassageText(text),), vectors[i : i + 1])
            for i, (name, text) in enumerate(texts.items())
        ]
        self.store.put(self.store.ensure_collection(collection, self.encoder.name), made)
        self.search.refresh()

    def texts(self, collection: str) -> list[tuple[str, str]]:
        """The passages of the collection, each with its document's name."""
        wanted, _ = self.store.collection(collection)
        return [(p.document_id, p.text) for c, p in self.store.scan(0, _MOST) if c == wanted]

    def missed(self, collection: str, text: str) -> list[str]:
        """Which searches do not find the text first: that of both indexes, and those of each."""
        vector, [number, _] = self.encoder.encode_queries([text])[0], self.store.collection(collection)
        first = {
            "the search": [h.passage_id for h in self.search.search(text, vector, [collection], 1)],
            "the dense index": [i for i, _ in self.search.dense.search(vector, [number], 1)],
            "the lexical index": [i for i, _ in self.search.lexical.search(text, [number], 1)],
        }
        texts = {i: p.text for i, p in self.store.passages(i for ids in first.values() for i in ids).items()}
        return [f"{who} misses '{text}'" for who, ids in first.items() if [texts.get(i) for i in ids] != [text]]

    def torn(self) -> list[str]:
        """Which indexes hold another number of passages than the store."""
        wanted = len(self.store.scan(0, _MOST))
        indexes = [i for i in (self.search.dense, self.search.lexical) if isinstance(i, DenseIndex | LexicalIndex)]
        return [f"{i.name} holds {n} passages of {wanted}" for i in indexes if (n := i.count()) != wanted]

    def close(self) -> None:
        self.search.close()
        self.database.close()


def problems_of(
    folder: Path,
    collection: str,
    wanted: Mapping[str, Collection[str]],
    asked: Iterable[str] = (),
    perhaps: Collection[str] = (),
    *,
    ended_well: bool = True,
) -> list[str]:
    """What is lost, doubled, changed or missed, in words: documents of one passage by name, each with the texts that it
    may have. asked: names whose texts are searched for. perhaps: names that may be missing. ended_well: whether the
    last process had the time to leave the indexes as they have to be; else the searches see to it."""
    with closing(Opened(folder)) as opened:
        try:
            stored = opened.texts(collection)
            found = unlike(stored, wanted, perhaps)
            found += opened.search.condition() if ended_well else []
            now = dict(stored)
            for name in asked:
                found += opened.missed(collection, now[name]) if name in now else []
            return found + opened.torn()
        except SteelmanError as exc:
            return [str(exc)]


def unlike(
    stored: Sequence[tuple[str, str]], wanted: Mapping[str, Collection[str]], perhaps: Collection[str] = ()
) -> list[str]:
    """In words what the stored documents are not as wanted."""
    counted = Counter(name for name, _ in stored)
    found = [f"document {name} is lost" for name in wanted if name not in counted and name not in perhaps]
    found += [f"document {name} is stored {n} times" for name, n in counted.items() if n > 1]
    return found + [f"document {n} is '{text}'" for n, text in stored if text not in wanted.get(n, ())]
