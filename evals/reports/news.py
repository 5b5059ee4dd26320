"""What the news suite found, as tables."""

from evals.metrics.diversity import COMPARED
from evals.reports.records import Record
from evals.reports.table import STAR, block, number, percent, sure

STAGES = ("search", "clustering", "selection", "all")
_COUNTED = {"precision": "P", "recall": "R", "f1": "F1"}
_PUBLISHED = {f"published_{m}": f"published {title}" for m, title in _COUNTED.items()}
_DIVERSITY = {"distance": "D", "density": "I", "coverage": "C"}
_BLOCKS = (_COUNTED | _PUBLISHED, _DIVERSITY | {"coverage_without_noise": "C without noise"})
_SHORT = (_PUBLISHED | _COUNTED | _DIVERSITY | {"chosen": "chosen"},)


def table(result: Record) -> list[str]:
    """Three blocks a k, in percent with 95 % intervals over events in brackets, then the seconds; with `one_table` one
    block a k without intervals. Those of the events that are held out follow in the same form."""
    config = result["config"]
    lines = [f"* the paired interval of the difference to dense, by event, {STAR}"]
    for data, size in config["sizes"].items():
        lines += [
            "",
            f"{data}: {size['questions']} of {size['annotated']} annotated events; {size['paragraphs']} paragraphs "
            f"from {size['sources']} sources on {size['events']} events, {size['without_text']} without text left out",
            *_tables(result, data),
        ]
        methods = result["metrics"][data].items()
        rows = {name: [number(of[f"{s}_seconds"], digits=4) for s in STAGES] for name, of in methods}
        lines += ["", *block(STAGES, rows, "seconds an event")]
    return [*lines, "", f"{result['seconds']:.1f} s; encoder {config['encoder']}; seed {config['seed']}"]


def _tables(result: Record, data: str) -> list[str]:
    methods, short = result["metrics"][data], result["one_table"]
    ratios = "× a method's figure / dense retrieval's, in brackets the paper's ratio on its own clusters and encoder"
    lines = [] if short else [ratios]
    for k in result["config"]["k"]:
        for titles in _SHORT if short else _BLOCKS:
            rows = {name: [_cell(result, data, name, f"{m}@{k}") for m in titles] for name in methods}
            lines += ["", *block([f"{title}@{k}" for title in titles.values()], rows)]
        if not short:
            rows = {name: [_ratio(result, data, name, f"{m}@{k}") for m in COMPARED] for name in methods}
            lines += ["", *block([f"{title}@{k} ×" for title in ("F1", "D", "I", "C")], rows)]
    return lines


def _cell(result: Record, data: str, name: str, m: str) -> str:
    value, over = result["metrics"][data][name][m], result["config"]["sizes"][data]["questions"]
    if m.startswith("chosen"):
        return number(value, digits=1)
    paired = result["paired"][data].get(name, {}).get(m, {"interval": (0.0, 0.0)})["interval"]
    return percent(value, () if result["one_table"] else result["intervals"][data][name][m], sure(paired, over))


def _ratio(result: Record, data: str, name: str, m: str) -> str:
    ratio = result["ratios"][data].get(name, {}).get(m)
    return f"{number(ratio['here'], digits=2)} ({number(ratio['paper'], digits=2)})" if ratio else "1"
