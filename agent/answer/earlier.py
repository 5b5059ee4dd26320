"""Stored answers of earlier schemas: claims that only leaned to a side move to `also`, which has no sides."""

from typing import Any

_EARLIER = ("2.0", "3.0", "4.0")
_RENAMED_FIELDS = {"pairs_judged": "passages_judged"}
_DROPPED_FIELDS = ("tier", "leaning", "copies", "chosen")
_RENAMED_VALUES = {"role": {"plain": "also"}, "status": {"leaning": "not_found"}, "strength": {"unsure": "none"}}


def _with_current_names(part: Any) -> Any:
    """A part of a stored answer in the names of this schema."""
    if isinstance(part, list):
        return [_with_current_names(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        _RENAMED_FIELDS.get(name, name): _RENAMED_VALUES.get(name, {}).get(value, value)
        if isinstance(value, str)
        else _with_current_names(value)
        for name, value in part.items()
        if name not in _DROPPED_FIELDS
    }


def upgrade_answer(stored: Any, version: str) -> Any:
    """A stored answer of an earlier schema in that version; anything else as it is."""
    if not isinstance(stored, dict) or stored.get("schema_version") not in _EARLIER:
        return stored
    old: dict[str, Any] = {"also": stored.get("plain", []), **stored}
    old.pop("plain", None)
    unsure = [c for side in old["perspectives"] for c in side["claims"] if c.get("tier") == "leaning"]
    sides = [{**s, "claims": [c for c in s["claims"] if c not in unsure]} for s in old["perspectives"]]
    also = [*old["also"], *({**claim, "role": "also"} for claim in unsure)]
    return _with_current_names(old | {"schema_version": version, "perspectives": sides, "also": also})
