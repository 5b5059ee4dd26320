"""The reason that a sentence gives for what it wants, apart from that."""

import re

_FEWEST = 3  # words of a reason, and of what it is given for
_LONGEST = 400  # characters of a sentence
_SEVERAL = re.compile(r"[.!?]\s+\S")
_BETWEEN = re.compile(
    r"""[,;]?\s+(?:
        because(?!\s+of\b) | given\s+that | in\s+that | seeing\s+that | on\s+the\s+grounds\s+that
      | due\s+to\s+the\s+fact\s+that
      | since(?!\s+(?:\d|then\b|the\s+(?:\d|early|late)|last\b|its\b|their\b))
      | (?<!\bsuch\s)(?<!\bwell\s)(?<!\bknown\s)(?<!\bsame\s)(?<!\bfar\s)(?<!\bmuch\s)(?<!\bmany\s)
        (?<!\bsoon\s)(?<!\blong\s)
        as(?!\s+(?:an?|well|long|soon|much|many|if|though|of|to|far|good|it\s+is|possible|usual|part|opposed)\b)
    )\s+""",
    re.IGNORECASE | re.VERBOSE,
)
_FIRST = re.compile(
    r"^(?:because(?!\s+of\b)|given\s+that|seeing\s+that|since(?!\s+\d))\s+([^,]+),\s+(.+)$", re.IGNORECASE
)


def reason_of(sentence: str) -> str:
    """The clause that says why, without its conjunction; empty where none is told by one, or little stands beside it,
    and for several sentences.

    'For', which may begin a reason too, mostly does not.
    """
    text = sentence.strip().rstrip(".!")
    if len(text) > _LONGEST or _SEVERAL.search(text):
        return ""
    if first := _FIRST.match(text):
        reason, wanted = first[1], first[2]
    elif between := _BETWEEN.search(text):
        reason, wanted = text[between.end() :], text[: between.start()]
    else:
        return ""
    return reason.strip() if min(len(reason.split()), len(wanted.split())) >= _FEWEST else ""
