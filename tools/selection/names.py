"""The selections' names and parameters, which the command line tells and checks without loading them."""

from dataclasses import dataclass

from tools.errors import InputError

COVERAGE = "coverage"
SEARCH_ORDER = "found"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a selection's number means, and what it is when nobody gives one; it is from 0 to 1."""

    meaning: str
    usual: float


_TRADE_OFF = Parameter("weight of relevance (λ)", 0.75)
_ENOUGH = Parameter("share of the clusters that is enough", 1.0)

PARAMETERS: dict[str, Parameter | None] = {
    COVERAGE: None,
    SEARCH_ORDER: None,
    "mmr": _TRADE_OFF,
    "dkmips": _TRADE_OFF,
    "scs": _ENOUGH,
    "scs-released": _ENOUGH,
    "greedyplus": _ENOUGH,
}
"""Every selection with its parameter, None for one that has none."""


def needs_clusters(name: str) -> bool:
    """Whether the selection goes by clusters of sentences."""
    return PARAMETERS[parse_selection(name)[0]] is _ENOUGH


def parse_selection(name: str) -> tuple[str, float]:
    """A selection and its number from 'NAME' or 'NAME:NUMBER'; 0 where it has none.

    Raises InputError for a name or a number that is none.
    """
    method, colon, number = name.partition(":")
    if method not in PARAMETERS:
        raise InputError(f"there is no selection '{method}'. There are: {', '.join(PARAMETERS)}.")
    parameter = PARAMETERS[method]
    if not colon:
        return method, 0.0 if parameter is None else parameter.usual
    if parameter is None:
        raise InputError(f"the selection '{method}' takes no number: write '{method}'.")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(
            f"'{name}': the {parameter.meaning} is a number from 0 to 1, such as {method}:{parameter.usual}."
        )
    return method, value
