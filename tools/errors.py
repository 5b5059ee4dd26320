"""Every error that Steelman raises on purpose.

A message says what happened and what to do next, in words for the person who reads it. What only helps at this
machine's keyboard, such as a command to type, is its `hint`. The cause is kept (`raise … from exc`).
"""

import shlex


def without_hint(text: str, hint: str = "") -> str:
    """A text in whole sentences for somebody who cannot follow its hint, such as a caller over HTTP."""
    before, _, after = text.partition(hint) if hint else (text, "", "")
    before, after = " ".join(before.split()), " ".join(after.split())
    if before.endswith((".", "!", "?")):
        after = after[:1].upper() + after[1:]
    rest = f"{before}{'' if after[:1] in '.,;' else ' '}{after}".strip()
    ended = rest if rest.endswith((".", "!", "?")) or not rest else f"{rest}."
    return ended[:1].upper() + ended[1:]


def as_sentence(text: str) -> str:
    """The text with one sign at its end, for a sentence to follow."""
    bare = text.rstrip(". \n")
    return bare if bare.endswith(("!", "?", "…")) else f"{bare}."


class SteelmanError(Exception):
    """Base of all errors raised on purpose; its text is meant for the user.

    `hint`: the part of the text that only helps at this machine's keyboard, word for word. It ends the text, unless
    the message holds it already.
    """

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        message, hint = as_installed(message), as_installed(hint)
        super().__init__(message if hint in message else f"{message} {hint}")
        self.hint = hint

    @property
    def remote_text(self) -> str:
        """The text for a caller elsewhere: without the hint."""
        return without_hint(str(self), self.hint)


class InputError(SteelmanError):
    """The caller asked for something that cannot be done as asked."""


class QuestionError(InputError):
    """The question cannot be answered: empty, too long, another language, or without sides."""


class GreetingError(QuestionError):
    """What was typed greets or thanks: no mistake, and no question. The text replies to it."""


class SettingsError(InputError):
    """A setting or an option has a value that it cannot have."""


class UnknownCollectionError(InputError):
    """No collection of that name exists."""


class AmbiguousDocumentError(InputError):
    """Several documents of a collection have the name that was given."""


class UnknownRunError(InputError):
    """No run of that id exists."""


class SourceError(SteelmanError):
    """A document could not be read: encrypted, damaged, not what its name says."""

    columns: "list[tuple[str, str]] | tuple[()]" = ()
    """Those of a table, each with an example, where it is not known which is the text."""


class ReaderFailedError(SourceError):
    """The reader of a document failed, for a reason that was not foreseen."""


class AddressError(SourceError):
    """An address that pages are never fetched from: it is not public, or not http(s)."""


class StoreError(SteelmanError):
    """The data on disk cannot be used as it is."""


class StoreBusyError(StoreError):
    """Somebody else holds the data and did not let go in time, or changed it meanwhile."""


class StoreFullError(StoreError):
    """The disk has no room left; what was finished before is kept."""


class StoreDamagedError(StoreError):
    """A file of the store is not readable as what it should be."""


class IndexDamagedError(StoreDamagedError):
    """An index cannot be used; it can be made again from the store. `index`: its name."""

    index = ""


class EncoderMismatchError(StoreError):
    """The stored vectors were made by another encoder than the one in use."""


class ModelError(SteelmanError):
    """Weights or a model file on this machine cannot be used."""


class ProviderError(SteelmanError):
    """A provider (a model, a search engine, a store) did not do its part."""


class DeadlineError(ProviderError):
    """A provider did not come back before the run's deadline; the run goes on without it."""


class BudgetError(ProviderError):
    """The run's budget of calls, tokens or cost is used up."""


class ProviderDownError(ProviderError):
    """A provider cannot be reached, refuses the key or keeps failing; it is not worth asking again in this run.

    `status`, `said`: those of its refusal over HTTP; 0 and empty without one.
    """

    status = 0
    said = ""


class ProviderReplyError(ProviderError):
    """A provider answered, and its answer cannot be used: not the schema, empty, or enormous."""


class PromptTooLongError(ProviderReplyError):
    """What was sent is longer than the model reads: its server refused it for that, or cut it."""


class JudgeError(ProviderError):
    """The run's judge failed; scores of two judges don't mix, so that its replacement scores everything again."""


class RunError(SteelmanError):
    """A run cannot be continued."""


class RunBusyError(RunError):
    """Another process is working on the run."""


class RunAbandonedError(RunError):
    """The process that worked on the run is gone, and nobody has taken the run up yet."""


class RunForgottenError(RunError):
    """The run has its answer; what it found on the way is not kept any more."""


class RunCancelledError(RunError):
    """The run was cancelled before it had an answer."""


# Commands that messages offer, to be pasted into a POSIX shell with whatever values people gave

_SCRIPTS = (("agent", "steelman"), ("api", "steelman-api"), ("evals", "steelman-evals"), ("ui", "steelman-ui"))


def as_installed(text: str) -> str:
    """The text with `python -m PACKAGE` replaced by the wheel's script, unless this is a checkout."""
    from tools.disk import is_checkout

    for package, script in () if is_checkout() else _SCRIPTS:
        text = text.replace(f"python -m {package}", script)
    return text


def command(words: str, *values: str, **options: str | bool) -> str:
    """`words`, which are typed as they stand, then the values and the options that are set, quoted.

    A value that begins with a dash would be read as an option: it is tied to its own, or stands behind `--`.
    """
    words, given = as_installed(words), [shlex.quote(v) for v in values]
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
