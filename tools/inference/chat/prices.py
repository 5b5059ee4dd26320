"""What models cost: a shipped list, and prices that the user names."""

import math
import tomllib
from functools import cache
from pathlib import Path

from tools.errors import SettingsError
from tools.inference.chat.vendors import vendor_of

Price = tuple[float, float]
"""US dollars for a million tokens given and made."""
_FILE = Path(__file__).parent / "prices.toml"


def price_of(model: str, named: str = "") -> Price | None:
    """The model's price; None when nobody knows it. `named` is 'name=0.5/1.5, other=1/2' and comes first. A name with a
    vendor in front ('anthropic:…') is looked up as it is, and then without.

    Raises SettingsError for a list of prices that cannot be read.
    """
    known, bare = {**_listed(), **read_prices(named)}, vendor_of(model)[1]
    return known.get(model) or known.get(bare)


def read_prices(named: str) -> dict[str, Price]:
    """The prices of a list such as 'name=0.5/1.5, other=1/2'. Raises SettingsError."""
    prices: dict[str, Price] = {}
    for entry in filter(None, (part.strip() for part in named.split(","))):
        name, _, both = entry.rpartition("=")
        given, _, made = both.partition("/")
        try:
            price = float(given), float(made)
        except ValueError as exc:
            raise _no_price(entry) from exc
        if not name.strip() or not all(0 <= p < math.inf for p in price):
            raise _no_price(entry)
        prices[name.strip()] = price
    return prices


def cost_of(price: Price | None, given: int, made: int) -> float | None:
    """US dollars for so many tokens given and made; None where the price is not known."""
    return None if price is None else (given * price[0] + made * price[1]) / 1e6


def _no_price(entry: str) -> SettingsError:
    return SettingsError(f"'{entry}' in STEELMAN_PRICES is no price. Write it as name=0.5/1.5.")


@cache
def _listed() -> dict[str, Price]:
    return {name: (float(p[0]), float(p[1])) for name, p in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}
