"""Numbers of things in words."""


def count(number: int, noun: str) -> str:
    """'1 passage', '1,200 passages'; the plural is made with an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
