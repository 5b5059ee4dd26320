"""What comes along when a key or an address is copied: names, quotation marks, spaces, what cannot be seen.

No fault's text holds anything of the value but the one character that does not belong there.
"""

import re
import unicodedata

_QUOTES = "“”„‟‘’‚‛«»‹›′″"
_LINE_ENDS = "\r\n\v\f\x85\u2028\u2029"
_AGAIN = "Copy it again"
_ALONG = re.compile(r"""(?:(?:export|set|setx)\s+|\$env:)?["']?\w*(?:key|token|url|host)["']?\s*=\s*[^=\s]""", re.I)
_SCHEME = re.compile(r"(?:authorization:\s*)?(?:bearer|basic|token)\s", re.I)


def fault_of_key(key: str) -> str:
    """What is wrong with a key, as it goes on after its name; empty for one that a header can hold."""
    if _SCHEME.match(key):
        return "begins with 'Bearer' or another word of the header: leave only the key itself"
    return _fault_around(key) or next((_fault(c) for c in key if not "!" <= c <= "~"), "")


def fault_of_header(value: str) -> str:
    """The same of a whole header, in which a space may stand."""
    return next((_fault(c) for c in value if not " " <= c <= "~"), "")


def fault_of_address(address: str) -> str:
    """The same of an address, which may hold letters of all alphabets."""
    return _fault_around(address) or next((_fault(c) for c in address if not c.isprintable() or c in _QUOTES), "")


def fault_of_name(name: str) -> str:
    """The same of a model's name or folder, inside which other quotation marks may stand."""
    return _fault_around(name) or next((_fault(c) for c in name[:1] + name[-1:] if c in _QUOTES), "")


def _fault_around(value: str) -> str:
    if _ALONG.match(value):
        return "holds the name of a variable too: leave only what stands after the last ="
    if value and (value[0] in "\"'`" or value[-1] in "\"'`"):
        return "holds quotation marks that nothing takes away here: leave them out"
    return ""


def _fault(character: str) -> str:
    name = unicodedata.name(character, f"U+{ord(character):04X}").lower()
    kind = unicodedata.category(character)
    if character in _QUOTES:
        return "holds a curly quotation mark: type it with straight quotes or none"
    if character in _LINE_ENDS:
        return f"holds the end of a line. {_AGAIN}, on one line"
    if kind == "Cs":  # how Python stands for a byte of the environment that is no text
        return f"holds a byte that is no UTF-8 text (0x{ord(character) & 0xFF:02X}). {_AGAIN}"
    if kind == "Zs":
        return f"holds a {name}. {_AGAIN}".replace("no-break space", "no-break space, which looks like a plain one")
    if kind in ("Cf", "Cc", "Co", "Cn"):
        return f"holds a character that cannot be seen ({name}). {_AGAIN}, or type it"
    return f"holds a character that no key or address has ({name}). {_AGAIN}"
