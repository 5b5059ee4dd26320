"""`python -m agent`: the command line. This module only parses; each command imports its own module."""

import argparse
import contextlib
import gc
import importlib
import io
import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

from tools.errors import InputError, SteelmanError, as_installed
from tools.translation import mark, speak_to_user, tr, translated


def discard_output() -> None:
    """Discards unwritten output, so that the interpreter reports no error at exit."""
    with contextlib.suppress(OSError, ValueError):  # standard output is no file, for example in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _WarningHandler(logging.Handler):
    """Prints Steelman's own warnings, one line each, without a traceback. A run raises its errors."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            from agent.answer.wording import strip_control_characters

            print(f"steelman: {strip_control_characters(record.getMessage())}", file=sys.stderr)


_REFUSED = mark(
    "the system refused something: {what}. What was finished is kept; where it is the output that cannot be written, "
    "free some room or send it elsewhere. Then run the same command again."
)
_WENT_WRONG = mark(
    "something went wrong inside Steelman ({what}). What was finished is kept. Try again; `{command} …` shows where it "
    "happened."
)
_KINDS = mark(
    "search only these: web, studies, news, discussion, encyclopedia, mine (your documents); default: all that is on"
)
OK, FAILED, BAD_INPUT, NOTHING_FOUND, DEGRADED, INTERRUPTED = 0, 1, 2, 3, 4, 130

_EPILOG = mark("""\
examples:
  python -m agent ask "Should schools ban smartphones?"
  python -m agent ask "Is nuclear power safe?" --deep --out nuclear.html
  python -m agent ingest papers/ notes.docx --collection mine
  python -m agent ingest survey.csv --text comment --title topic
  python -m agent ask "Should we raise prices?" --collection mine --no-web
  python -m agent ask "Does screen time harm sleep?" --sources studies,news
  python -m agent ask "Should the bridge be closed?" --url https://example.org/for --url https://example.org/against

exit status: 0 answered, 1 failed, 2 bad input, 3 nothing found, 4 a provider was replaced, or nothing was found and not
everything was searched and judged in time, 130 interrupted
""")


_ARGPARSE = (
    mark("usage: "),
    mark("positional arguments"),
    mark("options"),
    mark("show this help message and exit"),
    mark("%(prog)s: error: %(message)s\n"),
    mark("argument %(argument_name)s: %(message)s"),
    mark("unrecognized arguments: %s"),
    mark("the following arguments are required: %s"),
    mark("expected one argument"),
    mark("not allowed with argument %s"),
    mark("invalid %(type)s value: %(value)r"),
    mark("ambiguous option: %(option)s could match %(matches)s"),
    mark("ignored explicit argument %r"),
    mark("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""Words of argparse, which ships no translations. argparse looks each up by its module's function `_`."""


def build_parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog=as_installed("python -m agent"),
        epilog=as_installed(tr(_EPILOG)),
        formatter_class=raw,
        description=tr("Every side's strongest sourced case for a contentious question."),
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_ask(
        commands.add_parser(
            "ask", help=tr("answer one question"), description=tr("Answer one question with every side's case.")
        )
    )
    chat = commands.add_parser("chat", help=tr("ask and follow up, line by line"))
    _add_search_options(chat)
    _add_batch(commands.add_parser("batch", help=tr("answer many questions from a file; a second call continues")))
    kinds = f"txt, md, rst, html, pdf, docx, odt, rtf, pptx, epub, vtt, srt, eml, mbox, csv, json, {tr('web pages')}"
    _add_ingest(commands.add_parser("ingest", help=tr("add documents: {kinds}", kinds=kinds)))
    collections = commands.add_parser("collections", help=tr("list the collections, or one collection's documents"))
    collections.add_argument("name", nargs="?", help=tr("list this collection's documents"))
    delete = commands.add_parser("delete", help=tr("remove a collection, or one document of it"))
    delete.add_argument("name", help=tr("the collection"))
    delete.add_argument(
        "document", nargs="?", help=tr("remove only this document (its id as `collections NAME` shows it)")
    )
    commands.add_parser("rebuild", help=tr("rebuild the search indexes from the store"))
    moving = tr(
        "copy the SQLite store into the empty Postgres database of STEELMAN_DATABASE_URL; a second call continues"
    )
    commands.add_parser("migrate-store", help=moving, description=moving)
    runs = commands.add_parser("runs", help=tr("list the last runs, or delete one"))
    runs.add_argument("--limit", type=int, default=20, metavar="N")
    runs.add_argument("--delete", metavar="RUN_ID", help=tr("delete this run with its answer and web pages"))
    commands.add_parser("doctor", help=tr("check every configured part; say how to turn on the others"))
    return parser


def _add_ingest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH|URL", help=tr("files, folders and web pages"))
    parser.add_argument("--collection", default="mine", metavar="NAME", help=tr("the collection (default: mine)"))
    parser.add_argument(
        "--sync",
        action="store_true",
        help=tr("also delete documents whose files are gone from these paths; asks first"),
    )
    parser.add_argument("--yes", action="store_true", help=tr("with --sync: delete without asking"))
    workers = tr(
        "read and encode files on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, or local (this machine's cores)"
    )
    parser.add_argument("--ray", metavar="ADDRESS", help=workers)
    columns = parser.add_argument_group(tr("columns of tables (csv, tsv, json, jsonl); default: by name"))
    columns.add_argument(
        "--text",
        action="append",
        metavar="COLUMN",
        help=tr("the text; several, given again or with commas, are joined. `meta.body` is a field inside another"),
    )
    for of in ("id", "title", "url", "publisher", "date", "kind", "author"):
        columns.add_argument(f"--{of}", metavar="COLUMN")


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--collection",
        action="append",
        metavar="NAME",
        help=tr("a collection to search; repeatable (default: all of your own, else the samples)"),
    )
    add("--no-web", action="store_true", help=tr("send no request off this machine"))
    add("--only", action="append", metavar="DOMAIN", help=tr("search the web only there; repeatable"))
    add("--sources", action="append", metavar="KINDS", help=tr(_KINDS))
    add("--since", metavar="DATE", help=tr("leave out what the internet gives with an earlier date, as 2025-01-31"))
    add("--url", action="append", metavar="URL", help=tr("read this page and search nothing; repeatable"))
    add("--deadline", type=float, metavar="SECONDS", help=tr("answer by then from what was found"))
    parser.set_defaults(depth="normal")
    choose = partial(parser.add_mutually_exclusive_group().add_argument, action="store_const", dest="depth")
    choose("--quick", const="quick", help=tr("fewer passages, no second search"))
    choose("--deep", const="deep", help=tr("more passages, up to two more searches"))


def _add_ask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="?", help=tr("in quotation marks"))
    _add_search_options(parser)
    parser.add_argument("--json", action="store_true", help=tr("print the whole answer as JSON"))
    parser.add_argument(
        "--explain",
        action="store_true",
        help=tr(
            "also list each document's stance or why it is not quoted, and all notes on what was dropped or failed "
            "(.html has them folded, .json always)"
        ),
    )
    parser.add_argument("--out", metavar="FILE", help=tr("also write the answer to FILE (.md, .html, .docx or .json)"))
    parser.add_argument("--resume", metavar="RUN_ID", help=tr("continue a stopped run after its last finished stage"))


def _add_batch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("questions", metavar="QUESTIONS.jsonl", help=tr('one question per line: {"question": "…"}'))
    parser.add_argument(
        "--out",
        required=True,
        metavar="ANSWERS.jsonl",
        help=tr("one answer per line; questions with an answer are skipped"),
    )
    parser.add_argument("--parallel", type=int, default=4, metavar="N", help=tr("questions at once (default: 4)"))
    _add_search_options(parser)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit status. Any failure becomes one line for the user."""
    logging.getLogger("steelman").handlers = [_WarningHandler()]
    return run_command(partial(_run, arguments), "agent")


def _open_closed_streams() -> None:
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        with contextlib.suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)  # takes the closed stream's number, the lowest free one, before a file can
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def run_command(work: Callable[[], int], module: str, name: str = "steelman") -> int:
    """Runs `python -m MODULE` and returns its exit status. Any failure becomes one line that begins with `name`."""
    _open_closed_streams()
    # Output replaces characters that the encoding lacks. Input keeps bytes that are not UTF-8 for a later check.
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()  # the pipe may be closed
    except InputError as exc:
        return _refuse(name, translated(str(exc)), BAD_INPUT)
    except SteelmanError as exc:
        return _refuse(name, translated(str(exc)), FAILED)
    except KeyboardInterrupt:
        print(tr("\nStopped."), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        discard_output()
        return 128 + signal.SIGPIPE
    except OSError as exc:
        discard_output()
        where = f" ({exc.filename})" if exc.filename else ""
        return _refuse(name, tr(_REFUSED, what=f"{exc.strerror or exc}{where}"), FAILED)
    except Exception as exc:
        if sys.flags.dev_mode:
            raise
        shows = as_installed(f"PYTHONDEVMODE=1 python -m {module}")
        return _refuse(name, tr(_WENT_WRONG, what=f"{type(exc).__name__}: {exc}", command=shows), FAILED)


def _run(arguments: list[str] | None) -> int:
    speak_to_user()
    argparse._ = tr  # type: ignore[attr-defined]
    args = build_parser().parse_args(arguments)
    name = args.command.replace("-", "_")
    own = {"ask": "ask", "chat": "ask", "batch": "ask", "ingest": "ingest", "migrate_store": "migrate_store"}
    module = own.get(name, "housekeeping")
    gc.set_threshold(20_000)  # imports leave no garbage, and the usual 700 would look for it hundreds of times
    return int(getattr(importlib.import_module(f"agent.commands.{module}"), name)(args))


def _refuse(name: str, message: str, status: int) -> int:
    from agent.answer.wording import strip_control_characters

    print(f"{name}: {strip_control_characters(message)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
