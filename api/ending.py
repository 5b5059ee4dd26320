"""The end of the server's process: orderly where that can be, but soon, whatever is at work; at once when asked twice.

What is cut off loses nothing: a change of the store and its journal are one transaction, indexes are brought up to date
from the journal, and runs and jobs that nobody lets go of are free once their heartbeat is stale.
"""

import os
import signal
import sys
import threading
import time
from types import FrameType

from api.observing.logs import SERVER

_CLOSING_SECONDS = 7.5
_LEFT_SECONDS = 1.0  # for exporters of traces and the like, when all is put away; a thread may compute for minutes
_CUT_SECONDS = 9.5


class Ending:
    """Begins with the first signal."""

    def __init__(self) -> None:
        self.begun = False
        self._put_away = threading.Event()

    def begin(self, number: int, _: FrameType | None) -> None:
        """A signal's handler: from now on the process has seconds; on the second signal none."""
        if self.begun:
            os._exit(128 + number)
        self.begun = True
        if sys.platform != "win32":  # the system ends what lets no thread have its turn
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, _CUT_SECONDS)
        threading.Thread(target=self._watch, name="steelman-ending", daemon=True).start()

    def put_away(self) -> None:
        """Runs and jobs are let go of, and the store is closed: what still computes is given up."""
        self._put_away.set()

    def _watch(self) -> None:
        if not self._put_away.wait(_CLOSING_SECONDS):
            SERVER.warning("cut off while it was closing; runs and jobs go on when it is started again")
        else:
            time.sleep(_LEFT_SECONDS)
        os._exit(0)
