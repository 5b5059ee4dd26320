"""Where the graph goes next, as pure functions; and the options that they read."""

import math
from typing import Any

import pytest
from langgraph.runtime import Runtime

from agent.options import RunOptions
from tools.errors import SettingsError


def runtime(**options: Any) -> Runtime[RunOptions]:
    return Runtime(context=RunOptions(**options))


@pytest.mark.parametrize(
    "changes",
    [{"max_passages": 0}, {"deadline_seconds": math.nan}, {"max_rounds": -1}, {"collections": ()}, {"breadth": 3}],
)
def test_an_option_that_cannot_be_is_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"collection|" + next(iter(changes))):
        RunOptions.of(**changes)


def test_stored_options_that_are_gone_are_left_out() -> None:
    assert RunOptions.from_dict({"max_pairs": 60, "selection": "mmr:0.5", "pool": 9}) == RunOptions(pool=9)
