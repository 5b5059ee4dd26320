"""Commands that messages offer, so that they can be pasted into a POSIX shell with whatever values people gave."""

import shlex


def command(words: str, *values: str, **options: str | bool) -> str:
    """`words`, which are typed as they stand, then the values and the options that are set, quoted.

    A value that begins with a dash would be read as an option: it is tied to its own, or stands behind `--`.
    """
    given = [shlex.quote(v) for v in values]
    named = [option(name, value) for name, value in options.items() if value]
    if any(v.startswith("-") for v in values):
        return " ".join([words, *named, "--", *given])
    return " ".join([words, *given, *named])


def option(name: str, value: str | bool) -> str:
    """An option as it is typed: with its value, or by itself."""
    typed = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return typed
    return f"{typed}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"
