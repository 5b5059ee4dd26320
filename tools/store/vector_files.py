"""Chroma's vector files, checked before Chroma opens them: its loader (hnswlib) trusts what it reads, and a file that
is cut or overwritten would end the process by a signal.

A collection has a folder: `header.bin` holds sizes and counts, `data_level0.bin` for each element its neighbours, its
vector and its label, `link_lists.bin` the neighbours on the upper levels, `index_metadata.pickle` the ids.
"""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_HEADER = struct.Struct("<i6QiI3QdQ")
_VERSION = 1
_FILES = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")
_MOST_LINKS = 1000
_DEGREE = 0xFFFF  # the lower half of a list's first word; the upper one marks elements that were removed
_WRITTEN = """SELECT s.id FROM segments s JOIN max_seq_id m ON m.segment_id = s.id WHERE s.scope = 'VECTOR'"""


def check_graphs(folder: Path) -> None:
    """Raises ValueError, which names the file, where the vector files of Chroma's folder cannot be what it wrote, and
    sqlite3.DatabaseError where its database cannot be read."""
    database = folder / "chroma.sqlite3"
    if not database.is_file() or not database.stat().st_size:
        return  # an index that is empty, or misses all that it should hold
    with closing(sqlite3.connect(database)) as db:
        written = [folder / row[0] for row in db.execute(_WRITTEN)]
    for graph in written:
        if missing := [name for name in _FILES if not (graph / name).is_file()]:
            raise ValueError(f"{graph / missing[0]} is missing")
        try:
            _check_graph(graph)
        except (ValueError, IndexError, struct.error) as exc:
            raise ValueError(f"the vector files in {graph} are damaged: {exc}") from exc


def _check_graph(graph: Path) -> None:
    """Raises ValueError, IndexError or struct.error where a size is not that of the file, or a link leads nowhere."""
    header = _HEADER.unpack((graph / "header.bin").read_bytes())
    version, start, room, count, size, label_at, vector_at, top, entry, links, links0, wanted, spread, tried = header
    if (
        (version, start, vector_at, label_at + 8) != (_VERSION, 0, 4 * (links0 + 1), size)
        or not 0 < wanted == links <= links0 <= _MOST_LINKS
        or not 0 <= count <= room <= 4 * count + 10_000  # its room is doubled as it grows
        or (label_at - vector_at) not in range(4, size, 4)
        or not (0 < spread < _MOST_LINKS and 0 < tried < 100 * _MOST_LINKS)
    ):
        raise ValueError("header.bin is no header")
    if not count:
        return
    for name, least in (("length.bin", 4 * count), ("data_level0.bin", size * count)):
        if (graph / name).stat().st_size < least:
            raise ValueError(f"{name} is cut")
    data = np.asarray(np.memmap(graph / "data_level0.bin", np.uint8, "r", shape=(count, size)))
    if len(set(data[:, label_at:].view(np.uint64).ravel().tolist())) < count:
        raise ValueError("data_level0.bin is overwritten")
    words = np.fromfile(graph / "link_lists.bin", np.uint32)
    at, levels, lists, sizes = 0, list[int](), list[tuple[int, int]](), words.tolist()
    for _ in range(count):
        level, rest = divmod(sizes[at], 4 * (links + 1))
        if rest or level > top:
            raise ValueError("link_lists.bin is overwritten")
        levels.append(level)
        lists += [(at + 1 + below * (links + 1), below + 1) for below in range(level)]
        at += 1 + sizes[at] // 4
    if entry >= count or levels[entry] != top:
        raise ValueError("header.bin and link_lists.bin do not belong together")
    _check_links(data[:, :vector_at].view(np.uint32), np.array(levels), 0)
    if lists:
        places, of_level = np.array(lists).T
        _check_links(words[places[:, None] + np.arange(links + 1)], np.array(levels), of_level[:, None])


def _check_links(rows: NDArray[np.uint32], levels: NDArray[np.int64], level: NDArray[np.int64] | int) -> None:
    """Rows of a degree and the places of so many neighbours, which have to exist on that level."""
    degree, places = rows[:, :1] & _DEGREE, rows[:, 1:]
    used = np.arange(places.shape[1]) < degree
    known = levels[np.where(used, places, 0)]  # raises IndexError past the last one
    if (degree > places.shape[1]).any() or (used & (known < level)).any():
        raise ValueError("its links lead nowhere")
