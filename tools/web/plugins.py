"""The sources that are installed: Steelman's own, and those of other packages (entry points of `steelman.sources`).

https://packaging.python.org/en/latest/specifications/entry-points/ describes entry points.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from tools.errors import SettingsError
from tools.passages import EVIDENCE_KINDS
from tools.web.source import Source

GROUP = "steelman.sources"
OWN = {
    "openalex": "tools.web.studies:OpenAlex",
    "europepmc": "tools.web.studies:EuropePmc",
    "semanticscholar": "tools.web.studies:SemanticScholar",
    "gdelt": "tools.web.news:Gdelt",
    "hackernews": "tools.web.discussion:HackerNews",
    "stackexchange": "tools.web.discussion:StackExchange",
    "wikipedia": "tools.web.encyclopedia:Wikipedia",
}
KEYED = ("semanticscholar",)
"""Sources that a key turns on."""


def installed_sources() -> dict[str, EntryPoint]:
    """The sources by name, Steelman's own first. A package cannot replace one of these."""
    own = {name: EntryPoint(name, value, GROUP) for name, value in OWN.items()}
    return own | {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def open_source(point: EntryPoint, own: Mapping[str, str]) -> Source:
    """The source of an entry point. own: arguments of Steelman's own sources; others take none.

    Raises SettingsError for a source that cannot be used, whatever its package raises.
    """
    try:
        made = point.load()(**own if point.name in OWN else {})
    except (Exception, SystemExit) as exc:
        raise SettingsError(f"The source '{point.name}' cannot be used ({type(exc).__name__}: {exc}).") from exc
    if not isinstance(made, Source) or made.kind not in EVIDENCE_KINDS[:-1]:
        wrong = "it is no tools.web.source.Source" if not isinstance(made, Source) else f"its kind is {made.kind!r}"
        raise SettingsError(f"The source '{point.name}' cannot be used ({wrong}).")
    made.name = point.name
    return made
