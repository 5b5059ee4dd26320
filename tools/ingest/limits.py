"""What reading one file may take."""

from dataclasses import dataclass

LARGEST_TEXT = 20_000_000
"""Characters of one document at most."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take.

    seconds: of work; three times as many by the clock. megabytes: of memory. recognising: seconds by the clock that
    text recognition may take besides. output: bytes of what is found, as it is handed over. advice: what to do about a
    file that exceeds them; more_time, more_memory: how the one who asked gets more, as hints.
    """

    seconds: float = 300.0
    megabytes: int = 2048
    recognising: float = 0.0
    output: int = 256 << 20
    advice: str = "Split it, or save it in another format."
    more_time: str = ""
    more_memory: str = ""


USUAL = Limits()
