"""`python -m evals`: one command a suite; a suite's module is imported when it runs."""

import argparse
import importlib
import os
import signal
import sys

from evals.suite import check_common
from tools.errors import SteelmanError

SUITES = {
    "answers": "the whole answer on questions whose passages have known sides",
    "architecture": "no measure: the picture of the code in docs/architecture.svg, drawn again",
    "bench": "speed: start-up, ask, encoder, batch, ingest, the agent's own time, the chat page, a large store",
    "claims": "are a model's true claims kept and its bad ones refused, whoever judges",
    "copies": "are passages that say the same in other words found, and different arguments left apart",
    "expand": "claim and negation against gold pairs of perspectives",
    "hostile": "is text that speaks to whoever writes the answer refused, and ordinary argument taken",
    "hostile-answers": "what words that are planted in passages do to answers: shown, counted, a side lost",
    "hostile-fit": "fit what tells words to the writer of the answer from ordinary sentences",
    "faults": "robustness: every outside part fails in every way at every stage; hostile inputs; killed processes",
    "ingest": "what readers get out of files that stand beside their expected text",
    "grounding": "is a written claim in its passage: the check of written claims on gold items",
    "judge": "does a passage support a perspective: any judge on labelled pairs",
    "judge-export": "the embedded judge as a folder that vLLM serves on /score",
    "judge-label": "label pairs with a chat model, or write them out for people to read",
    "judge-mean": "the mean of the weights of several runs of judge-train",
    "judge-pack": "put a trained judge into the repository: int8, calibration, thresholds",
    "judge-train": "train the embedded judge, or tune an instruct model with LoRA (extra 'models')",
    "licences": "no measure: what the locked packages declare, in docs/licences.md, written again",
    "model": "whole runs with a scripted chat model: claims kept and refused, sources, calls; --live: with yours",
    "news": "how relevant and how diverse the paragraphs found for a news event are (NEWSCOPE)",
    "pir": "do queries that add a perspective find its passages: PAP and the like (PIR)",
    "readers": "a sheet of what answers show or typed lines become, to be read by people, and what they say",
    "report": "results side by side: a table, Markdown with figures, two of them compared",
    "responses": "theses of documents, stances of texts and evidence, against labelled data",
    "quotes": "how surely a quotation has to argue for a side before it is shown",
    "retrieval": "how well retrievers cover the perspectives on a question",
    "select-fit": "fit what tells the passages that speak to a question, for the agent's selection",
    "stances": "which side a text is on, where its form is against it: eleven hard kinds, any judge",
    "screenshots": "pictures of the chat page, for the documents",
    "walls-fit": "fit what tells walls from articles among short pages of the web",
}


def main(arguments: list[str] | None = None) -> int:
    """Runs one suite; an error that is meant for the user becomes one line and exit status 1."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m evals", description="Measure the parts and the whole.")
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    chosen = arguments[0] if arguments and arguments[0] in SUITES else None
    for name, text in SUITES.items():
        suite = suites.add_parser(name, help=text, description=text)
        if name == chosen:
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


def _module(name: str):  # type: ignore[no-untyped-def]  # whichever module the suite is
    training = name.removeprefix("judge-")
    own = f"evals.suites.{name.replace('-', '_')}"
    return importlib.import_module(own if training == name else f"evals.training.{training}")


if __name__ == "__main__":
    sys.exit(main())
