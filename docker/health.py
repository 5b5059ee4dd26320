"""Exits with status 0 while the server for programs or the page answers in this container."""

import sys
from urllib.request import ProxyHandler, build_opener

_OPENER = build_opener(ProxyHandler({}))  # the container's proxy is not for its own address


def answers(address: str) -> bool:
    try:
        with _OPENER.open(f"http://127.0.0.1:{address}", timeout=5):
            return True
    except OSError:
        return False


sys.exit(not any(map(answers, ("8000/healthz", "8501/_stcore/health"))))
