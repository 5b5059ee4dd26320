"""Prices of models: the shipped list and the user's own."""

import pytest

from tools.errors import SettingsError
from tools.models.servers import price_of, read_prices


def test_the_users_prices_come_first_and_what_nobody_knows_is_unknown() -> None:
    assert price_of("gpt-4o-mini") == (0.15, 0.60)
    assert price_of("gpt-4o-mini", "gpt-4o-mini=1/2, own=0.5/1.5") == (1.0, 2.0)
    assert price_of("own", "gpt-4o-mini=1/2, own=0.5/1.5") == (0.5, 1.5)
    assert price_of("own") is None
    assert price_of("", "") is None
    assert price_of("anthropic:claude-x", "claude-x=3/15, anthropic:claude-y=1/2") == (3.0, 15.0)


def test_names_may_hold_what_names_hold() -> None:
    assert read_prices(" org/model:7b=q4=0/0 ,, x =1/ 2,") == {"org/model:7b=q4": (0.0, 0.0), "x": (1.0, 2.0)}


@pytest.mark.parametrize("named", ["own", "own=1", "own=1/", "own=a/b", "=1/2", "own=-1/2", "own=nan/1", "own=1/inf"])
def test_what_is_no_price_is_shown(named: str) -> None:
    with pytest.raises(SettingsError, match=r"STEELMAN_PRICES is no price\. Write it as"):
        price_of("gpt-4o", f"first=1/2, {named}")
