"""Which part of a query is its perspective? Rules that read the query alone."""

import re

Split = tuple[str, str]
"""A query's root and its perspective, empty where none is seen: then the root is the query."""
_VERB = r"(?:please )?(?:find|show|get|give|list|search|look|retrieve|return)\b(?: me| for)?"
_BOUND = r"(?:as of|according to|in|on|at|as|by|for|from|during|since|until|with|without|before|after|under)"
_REQUEST = re.compile(rf"{_VERB}(?P<perspective>.+?):(?P<root>.+)", re.I | re.S)
_FIRST = re.compile(rf"(?P<perspective>{_BOUND}\s[^,]+),\s*(?P<root>.+)", re.I | re.S)
_LAST = re.compile(rf"(?P<root>.+[^\s,]),?\s(?P<perspective>{_BOUND}\s.+?)[?.!\s]*", re.I | re.S)


def split_by_rules(query: str) -> Split:
    """A request up to its colon says from which side ('Find a claim that opposes: …'), and what follows is the root;
    of a question the phrase that bounds it, before its first comma or at its end, is the perspective."""
    for form in (_REQUEST, _FIRST, _LAST):
        if found := form.fullmatch(query.strip()):
            return found["root"].strip(), found["perspective"].strip()
    return query, ""
