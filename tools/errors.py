"""All errors that Steelman raises deliberately.

A message tells the user what happened and what to do next. A part of the message, the `hint`, helps only users who can
run commands on this machine: 'see `python -m agent doctor`'. `raise … from exc` keeps the cause.
"""

import shlex


def without_hint(text: str, hint: str = "") -> str:
    """The text in whole sentences, without its hint. It is for callers who cannot run commands here, such as HTTP
    clients."""
    before, _, after = text.partition(hint) if hint else (text, "", "")
    before, after = " ".join(before.split()), " ".join(after.split())
    if before.endswith((".", "!", "?")):
        after = after[:1].upper() + after[1:]
    rest = f"{before}{'' if after[:1] in '.,;' else ' '}{after}".strip()
    ended = rest if rest.endswith((".", "!", "?")) or not rest else f"{rest}."
    return ended[:1].upper() + ended[1:]


def as_sentence(text: str) -> str:
    """The text with one punctuation mark at the end."""
    bare = text.rstrip(". \n")
    return bare if bare.endswith(("!", "?", "…")) else f"{bare}."


class SteelmanError(Exception):
    """Base class. The text is for the user.

    `hint`: the part of the text for users who can run commands on this machine, word for word. The constructor appends
    the hint unless the message contains it.
    """

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        message, hint = as_installed(message), as_installed(hint)
        super().__init__(message if hint in message else f"{message} {hint}")
        self.hint = hint

    @property
    def remote_text(self) -> str:
        """The text without the hint."""
        return without_hint(str(self), self.hint)


class InputError(SteelmanError):
    """The request is not valid."""


class QuestionError(InputError):
    """The question cannot be answered: it is empty, too long, in another language, or has no sides."""


class GreetingError(QuestionError):
    """The input is a greeting or thanks, not a question. The text is the reply and an example to ask."""

    def __init__(self, reply: str, example: str) -> None:
        super().__init__(f"{reply} {example}")
        self.reply = reply


class SettingsError(InputError):
    """A setting or an option has an invalid value."""


class NoSourceError(SettingsError):
    """No source of the wanted kinds is on."""


class UnknownCollectionError(InputError):
    """No collection has this name."""


class AmbiguousDocumentError(InputError):
    """Several documents of a collection have this name."""


class UnknownRunError(InputError):
    """No run has this id."""


class SourceError(SteelmanError):
    """A document cannot be read: it is encrypted, damaged, or not of the type that its name claims."""

    columns: "list[tuple[str, str]] | tuple[()]" = ()
    """A table's columns, each with an example, if the reader does not know which column holds the text."""


class ReaderFailedError(SourceError):
    """The reader of a document failed unexpectedly."""


class AddressError(SourceError):
    """Pages are never fetched from this address, because the address is not public or not http(s)."""


class StoreError(SteelmanError):
    """The data on disk cannot be used."""


class StoreBusyError(StoreError):
    """Another process holds the data or has changed it. A retry may succeed."""


class StoreDownError(StoreError):
    """The database server does not answer. A run waits for it; another caller tries again later."""


class StoreFullError(StoreError):
    """The disk is full. Finished work is kept."""


class StoreDamagedError(StoreError):
    """A file of the store is damaged."""


class IndexDamagedError(StoreDamagedError):
    """An index is damaged. It can be rebuilt from the store."""


class EncoderMismatchError(StoreError):
    """Another encoder made the stored vectors."""


class ModelError(SteelmanError):
    """A model file on this machine cannot be used."""


class ProviderError(SteelmanError):
    """A provider (model, search engine, store server) failed."""


class DeadlineError(ProviderError):
    """A provider did not answer before the deadline. The run continues without it."""


class BudgetError(ProviderError):
    """The run has used up its calls, tokens or cost."""


class ProviderDownError(ProviderError):
    """A provider cannot be reached, refuses the key or keeps failing. The run does not ask it again.

    `status`, `said`: HTTP status and text of the refusal; 0 and empty without a refusal.
    """

    status = 0
    said = ""


class ProviderReplyError(ProviderError):
    """A provider's reply cannot be used: it is empty, too large, or violates the schema."""


class PromptTooLongError(ProviderReplyError):
    """The prompt exceeds the model's context: the server refused or truncated it."""


class JudgeError(ProviderError):
    """The run's judge failed. Two judges' scores are not comparable, so the fallback judge scores everything again."""


class RunError(SteelmanError):
    """A run cannot continue."""


class RunBusyError(RunError):
    """Another process is working on the run."""


class RunAbandonedError(RunError):
    """The run's process is gone, and no other process has resumed the run."""


class RunForgottenError(RunError):
    """The run is finished. Its intermediate results are no longer kept."""


class RunCancelledError(RunError):
    """The run was cancelled before it had an answer."""


# Commands in messages, to be pasted into a POSIX shell with the user's values

_SCRIPTS = (("agent", "steelman"), ("api", "steelman-api"), ("evals", "steelman-evals"), ("ui", "steelman-ui"))


def as_installed(text: str) -> str:
    """The text with `python -m PACKAGE` replaced by the wheel's script, unless this is a checkout."""
    from tools.disk import is_checkout

    for package, script in () if is_checkout() else _SCRIPTS:
        text = text.replace(f"python -m {package}", script)
    return text


def command(words: str, *values: str, **options: str | bool) -> str:
    """A command line to paste: `words` verbatim, then the quoted values and the options that are set.

    Values that begin with a dash follow `--`, so that they are not parsed as options.
    """
    words, given = as_installed(words), [shlex.quote(v) for v in values]
    named = [option(name, value) for name, value in options.items() if value]
    if any(v.startswith("-") for v in values):
        return " ".join([words, *named, "--", *given])
    return " ".join([words, *given, *named])


def option(name: str, value: str | bool) -> str:
    """An option with its value. The option stands alone if the value is True."""
    typed = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return typed
    return f"{typed}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"
