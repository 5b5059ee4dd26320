"""Pages that ask for something, or refuse it, instead of showing a text.

An article about walls uses their words to tell somebody of them; a wall speaks to its reader, of the page, the site and
what to do next, in the present, and names nobody. So a short page is told by all its words and pairs of words at once:
logistic regression, fitted by `python -m evals walls-fit` on walls and articles that were written for it. What stands
in quotation marks is what somebody else says, and does not count.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from tools.errors import ModelError

FILE = Path(__file__).parents[1] / "weights" / "walls.json"
_READ = 20_000  # characters: whoever asks for something does so at the beginning
_LONGEST = 400  # words of a wall; what is longer has a text of its own, or is a list of a site's partners
_FEWEST_TOLD = 5  # words: fewer tell too little to be scored
_TOKEN = re.compile(r"\w+|[\[\]{}<>:#]")
_FEWEST = 20  # words, of which less than that score anyhow
_TEASER = 250  # words; more of an article is worth reading although it breaks off
_END = 150  # characters at the end of a teaser
_REASONS = {
    "asks whether the reader is human": r"captcha|\b(?:human|robot|(?:ro)?bots?|real person)\b|just a moment|"
    r"(?:check\w*|of) your (?:browser|connection)|(?:unusual|automated) \w+|ddos|security (?:check|service)"
    r"|too many requests",
    "a login is asked for": r"\b(?:log|sign|logged|signed)[ -]?in\b|log-?in\b|password|register\w*|(?:members"
    r"|staff) only|(?:create|have) an account",
    "a subscription is asked for": r"subscri\w+|free (?:articles|stor\w+)|membership|become a|cancel|[$£€] ?\d"
    r"|unlimited|purchase|\brent\b|buy (?:this|the)|paid|(?:continue|keep|go on) reading|unlock",
    "consent to cookies is asked for": r"cookies?|partners|consent|legitimate interest|(?:accept|reject|allow) (?:all"
    r"|everything)|personali[sz]ed|privacy|purposes",
    "shows nothing without JavaScript": r"java ?script|\bscripts?\b|supported browser|outdated browser|ad ?-?blocker",
    "is not shown in this region": r"your (?:country|region|location)|where you are|european|legal (?:reasons|demand)"
    r"|\bvpn\b|(?:rights|licen[sc]ing) agreements?|gdpr|\b451\b|travelling|abroad",
    "the site refuses access": r"denied|forbidden|blocked|refus\w+|permission|\b403\b|firewall|restricted|\bip\b"
    r"|not allowed|policy",
    "the page is not there": r"not found|\b404\b|moved|removed|deleted|looking for|bookmarks?|oops|no longer|address"
    r"|archived|broken|search|home ?page|not available any",
    "the site is closed": r"maintenance|back (?:soon|online|on|shortly)|temporarily|inconvenience|patience|offline"
    r"|suspended|for sale|\b50[0234]\b|status page|upgrades?",
    "the reader's age is asked for": r"\bage\b|date of birth|\b18\b|eighteen|adults?\b|drinking",
}
_QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"|‘[^’\n]{8,}’|(?<!\w)'[^'\n]{8,}'(?!\w)")
# What an article breaks off with of which only the beginning is free.
_ASKED = re.compile(
    r"(?:subscribe|register|(?:log|sign) ?in|join)\b[^.!?\n]{0,40}\bto (?:continue|keep|read|view|see|unlock|access"
    r"|finish)\b|to (?:continue|keep) reading|already (?:a )?(?:subscriber|member)\?|unlock this (?:article|story)"
    r"|subscribers only|reached your (?:\w+ )?limit|free articles? (?:left|this)|subscription (?:is )?required",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WallWeights:
    """`terms`: weights of words and of pairs of neighbours. A page whose score is above `threshold` is a wall."""

    offset: float
    threshold: float
    terms: Mapping[str, float] = field(repr=False)

    def score(self, text: str) -> float:
        """The logit of being a wall, up to the class weights of the fit; minus infinity for fewer than five words."""
        found = features(text)
        if not found:
            return -math.inf
        return self.offset + sum(value * self.terms.get(term, 0.0) for term, value in found.items())


def features(text: str) -> dict[str, float]:
    """The text's words and pairs of neighbours, each with the same value, of unit length together; a number is '0'.
    Empty for fewer than five words."""
    words = ["0" if word.isdigit() else word for word in _TOKEN.findall(text.lower())]
    if len(words) < _FEWEST_TOLD:
        return {}
    terms = {*words, *(f"{first} {second}" for first, second in pairwise(words))}
    return dict.fromkeys(sorted(terms), 1 / math.sqrt(len(terms)))  # sorted: sums come out alike in every process


@cache
def load_weights(path: Path = FILE) -> WallWeights:
    """The stored weights. Raises ModelError when they cannot be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        terms = {str(term): float(weight) for term, weight in stored["terms"].items()}
        return WallWeights(float(stored["offset"]), float(stored["threshold"]), terms)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise ModelError(f"{path} cannot be read ({exc}). Restore it from the project.") from exc


def wall(text: str, title: str = "") -> str:
    """What a page asks for or refuses, in words; empty for one that shows a text. title: what its head calls it.

    Raises ModelError when the weights cannot be read.
    """
    said = unquoted(text[:_READ], title)
    words = len(said.split())
    weights = load_weights()
    if words < _FEWEST:  # what it asks for is all that it says
        return reason(said, "")
    if words <= _LONGEST and weights.score(said) > weights.threshold:
        return reason(said)
    end = said.rstrip()[-_END:]
    return reason(end) if words < _TEASER and _ASKED.search(end) else ""


def unquoted(text: str, title: str) -> str:
    """Title and text without what is quoted, as they are scored."""
    return _QUOTED.sub(" ", f"{title}\n{text}".replace("’", "'"))


def reason(said: str, otherwise: str = "speaks of the site to its visitors, and shows no text") -> str:
    """The wall's kind: that of which most words are there, a word as often as it stands."""
    times = {what: len(re.findall(words, said, re.IGNORECASE)) for what, words in _REASONS.items()}
    what = max(times, key=lambda one: times[one])
    return what if times[what] else otherwise
