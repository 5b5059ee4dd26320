"""TextBlob's English lexicon and tagger, imported without what they do not use."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# nltk offers significance tests and classifiers on top of these when they are there, which doubles the time that
# importing TextBlob takes; none of it is used here.
_UNUSED = ("scipy.stats", "sklearn", "scipy.sparse")


@contextmanager
def _absent(names: tuple[str, ...]) -> Iterator[None]:
    """Modules that are not loaded yet cannot be imported inside."""
    hidden = [n for n in names if n not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's own mark for 'must not be imported'
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def textblob_en() -> Any:
    """The module `textblob.en`, with `lexicon`, `tag`, `parse` and `sentiment`; no corpus download is involved."""
    with _absent(_UNUSED):
        import textblob.en

    return textblob.en
