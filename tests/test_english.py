"""The English tagger comes without what it does not need, and leaves nothing broken behind."""

from conftest import Spawn

from evals.metrics.textblob_english import textblob_en
from tools.inference.batching import parts

IMPORTS = """
import sys
from evals.metrics.textblob_english import textblob_en
assert "bee" in textblob_en().lexicon
assert "sklearn" not in sys.modules and "scipy.stats" not in sys.modules
import scipy.stats, sklearn.cluster
textblob_en()
print("sklearn" in sys.modules)
"""


def test_tags() -> None:
    assert next(tag for _, tag in textblob_en().tag("Bees dance quickly")).startswith("NN")


def test_it_does_without_the_large_packages_and_leaves_them_importable(spawn: Spawn) -> None:
    said, trouble = spawn(IMPORTS).communicate(timeout=60)
    assert said == "True\n", trouble


def test_parts() -> None:
    assert [list(p) for p in parts(range(7), 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(parts([], 3)) == []
