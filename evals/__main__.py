"""`python -m evals`: runs a suite and imports only that suite's module."""

import argparse
import importlib
import sys
from functools import partial
from types import ModuleType

from agent.__main__ import run_command
from tools.errors import as_installed

GROUPS = {
    "Measure": {
        "answers": "whole answers: sides quoted (own), claims supported (ALCE), one-sided (DeepTRACE), alignment (PIR)",
        "judge": "does a passage support a perspective: accuracy, F1 (BERDS), AUC, calibration, on labelled pairs",
        "retrieval": "do retrievers cover the perspectives on a question: MRecall@k, precision@k (BERDS), α-nDCG",
        "berds": "the same for any retriever, corpus and the web, by a judge's verdicts: MRecall@k, sycophancy (BERDS)",
        "debateqa": "do answers show every view, and say that there is a dispute: perplexity, awareness (DebateQA)",
        "deeptrace": "one-sided, overconfident, unsupported; citations and sources: eight measures (DeepTRACE)",
        "pir": "do queries that add a perspective find its passages: p-Recall@k of PAP and the like (PIR)",
        "favour": "what do neutral queries favour: shares of stances and ideologies in their results (PIR)",
        "news": "relevance and diversity of results for a news event: P, R, D, I, C (NEWSCOPE)",
        "responses": "stance of a text: accuracy, F1 (multi-perspective search engine)",
        "preference": "votes between answers and lists: ballots, counts (multi-perspective search engine)",
        "ingest": "text that readers extract against the expected text: words in order, sentences (own)",
        "report": "results side by side, or two compared",
    },
    "Train": {
        "judge-train": "train the embedded judge (extra 'models')",
        "judge-pack": "pack a trained judge into the repository: int8, calibration, thresholds",
        "corrections": "readers' corrections as labelled pairs for judge-train",
        "quotes": "accuracy of quotations' sides by threshold",
    },
    "Speed": {
        "bench": "the second `ask`, the judge, ingesting",
        "scale": "how long questions wait in a deployment: stage times of stored runs, and a simulation",
    },
}
_PAPERS = """
ALCE: Gao et al. 2023. BERDS: Chen and Choi. DebateQA: Xu et al. DeepTRACE: Venkit et al. Multi-perspective search
engine: Chen et al. 2022. NEWSCOPE: Tang et al. PIR: Zhao et al. Formulas are in evals/metrics.
"""
SUITES = {name: text for group in GROUPS.values() for name, text in group.items()}


def main(arguments: list[str] | None = None) -> int:
    """Runs one suite. An error becomes one line and an exit status."""
    return run_command(partial(_run, sys.argv[1:] if arguments is None else arguments), "evals", "evals")


def _run(arguments: list[str]) -> int:
    from evals import suite  # slow to import: here Ctrl-C ends it quietly

    parser = argparse.ArgumentParser(
        prog=as_installed("python -m evals"),
        description="Evaluate the agent and its parts.",
        epilog=_listed() + "\nSUITE --help describes the measures and options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s SUITE …",
    )
    suites = parser.add_subparsers(dest="suite", required=True, metavar="SUITE", help="one of the suites below")
    chosen = arguments[0] if arguments and arguments[0] in SUITES else None
    for name, text in SUITES.items():
        one = suites.add_parser(name, prog=as_installed(f"python -m evals {name}"), description=text)
        if name == chosen:
            one.description, one.formatter_class = _module(name).__doc__, argparse.RawDescriptionHelpFormatter
            _module(name).add_arguments(one)
    args = parser.parse_args(arguments)
    module = _module(args.suite)
    return int(module.run(args) if hasattr(module, "run") else suite.run(module, args))


def _listed() -> str:
    groups = (
        "\n".join([f"{group}:", *(f"  {name:<13}{text}" for name, text in suites.items())])
        for group, suites in GROUPS.items()
    )
    return "\n\n".join(groups) + f"\n{_PAPERS}"


def _module(name: str) -> ModuleType:
    package = "training" if name.startswith("judge-") else "suites"
    return importlib.import_module(f"evals.{package}.{name.removeprefix('judge-')}")


if __name__ == "__main__":
    sys.exit(main())
