"""`python -m evals`: one command a suite; a suite's module is imported when it runs."""

import argparse
import importlib
import os
import signal
import sys

from evals.suite import check_common
from tools.errors import SteelmanError

GROUPS = {
    "Measure": {
        "answers": "whole answers to questions whose documents have known sides; a sheet for people to read",
        "judge": "does a passage support a perspective: any judge on labelled pairs",
        "retrieval": "how well retrievers cover the perspectives on a question",
        "pir": "do queries that add a perspective find its passages: PAP and the like (PIR)",
        "news": "how relevant and how diverse the paragraphs found for a news event are (NEWSCOPE)",
        "responses": "theses of documents, stances of texts and evidence, against labelled data",
        "expand": "a chat model's perspectives against gold ones",
        "model": "a chat model's claims: kept or refused, sources, calls; --live: your own model",
        "ingest": "what readers get out of files that stand beside their expected text",
        "report": "results side by side, and two of them compared",
    },
    "Speed": {"bench": "answers, the judge, a large store"},
    "Train": {
        "judge-train": "train the embedded judge (extra 'models')",
        "judge-pack": "put a trained judge into the repository: int8, calibration, thresholds",
        "quotes": "how surely a quotation has to argue for a side before it is shown, and the fit of that",
        "select-fit": "fit what tells the passages that speak to a question, for the agent's selection",
    },
}
SUITES = {name: text for group in GROUPS.values() for name, text in group.items()}


def main(arguments: list[str] | None = None) -> int:
    """Runs one suite; an error that is meant for the user becomes one line and exit status 1."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        prog="python -m evals",
        description="Measure the parts and the whole.",
        epilog=_listed() + "\nSUITE --help tells what each measures and its options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s SUITE …",
    )
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE", help="one of those below")
    chosen = arguments[0] if arguments and arguments[0] in SUITES else None
    for name, text in SUITES.items():
        suite = suites.add_parser(name, prog=f"python -m evals {name}", description=text)
        if name == chosen:
            suite.description, suite.formatter_class = _module(name).__doc__, argparse.RawDescriptionHelpFormatter
            _module(name).add_arguments(suite)
    args = parser.parse_args(arguments)
    try:
        check_common(args)
        status = int(_module(args.suite).run(args))
        sys.stdout.flush()
        return status
    except SteelmanError as exc:
        print(f"evals: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone, as `head` does; the interpreter must not complain on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _listed() -> str:
    groups = (
        "\n".join([f"{group}:", *(f"  {name:<13} {text}" for name, text in suites.items())])
        for group, suites in GROUPS.items()
    )
    return "\n\n".join(groups) + "\n"


def _module(name: str):  # type: ignore[no-untyped-def]  # whichever module the suite is
    if name in GROUPS["Train"]:
        return importlib.import_module(f"evals.training.{name.removeprefix('judge-').replace('-', '_')}")
    return importlib.import_module(f"evals.suites.{name}")


if __name__ == "__main__":
    sys.exit(main())
