"""What reading one file may take."""

import signal
from dataclasses import dataclass

from tools.errors import SourceError


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take.

    seconds: of work; three times as many by the clock. megabytes: of memory. output: bytes of what is found, as it is
    handed over. advice: what to do about a file that exceeds them; more_time, more_memory: how the one who asked gets
    more, as hints.
    """

    seconds: float = 30.0
    megabytes: int = 512
    output: int = 256 << 20
    advice: str = "Split it, or save it in another format."
    more_time: str = ""
    more_memory: str = ""

    def problem(self, name: str, told: str, more: str = "") -> SourceError:
        """That of a file which takes more than these limits."""
        return SourceError(" ".join(filter(None, (f"{name}: {told}", self.advice))), hint=more)

    def too_slow(self, name: str) -> SourceError:
        return self.problem(name, f"takes too long to read (over {self.seconds:g} seconds).", self.more_time)

    def ended(self, name: str, status: int) -> SourceError:
        """That of a file whose reader is gone; status: its exit status, or the number of a signal below zero."""
        if status == -signal.SIGXCPU:
            return self.too_slow(name)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        told = f"is damaged, or unpacks to more than {self.megabytes:,} MB of memory: it ended its reader ({how})."
        return self.problem(name, told, self.more_memory)


DEFAULT_LIMITS = Limits()
