"""Training and packing of both judges on small data; the training data, and what they must not share."""

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.samples import FOLDER
from evals.__main__ import main
from evals.datasets.cases import Case, load_samples
from evals.datasets.overlap import Evaluated, read_evaluated
from evals.training.data import Example, load_corpus
from evals.training.text import key, shingles
from tools.documents.markdown import markdown_document
from tools.models.encoders import encoder_files
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, swap_statements


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_judge_data(tmp_path_factory.mktemp("judge-data"))


def small_mpnet(folder: Path, layers: int = 2) -> Path:
    """A model of the closer reading's kind with random weights, as judge-train writes it."""
    import torch
    from safetensors.torch import save_file
    from transformers import MPNetConfig, MPNetModel

    from evals.training.model import trained_weights

    torch.manual_seed(3)
    shape = {"hidden_size": 48, "num_hidden_layers": layers, "num_attention_heads": 12, "intermediate_size": 96}
    settings = MPNetConfig(vocab_size=30522, initializer_range=0.3, max_position_embeddings=162, **shape)
    model = {"encoder": MPNetModel(settings), "classifier": torch.nn.Linear(48, 2)}
    folder.mkdir()
    save_file({n: v.contiguous() for n, v in trained_weights(model).items()}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_bytes(encoder_files().tokenizer.read_bytes())
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_closer_reading_is_trained_and_packed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["judge-train", "--data", str(data), "--out", str(tmp_path / "run"), "--millions", "0.02", "--encoder"]
    for folder, cause in ((tmp_path / "none", "no weights"), (small_mpnet(tmp_path / "tiny"), "has 2 layers, not 3")):
        assert main([*command, str(folder)]) == 2
        assert cause in capsys.readouterr().err
    assert main([*command, str(small_mpnet(tmp_path / "small", 4))]) == 0
    capsys.readouterr()

    before = embedded.load_judge()
    small, folder = tmp_path / "judge", tmp_path / "close_judge"
    shutil.copytree(embedded.FOLDER, small)
    monkeypatch.setattr(embedded, "FOLDER", small)
    monkeypatch.setattr(embedded, "LARGER_FOLDER", folder)
    assert main(["judge-pack", "--weights", str(tmp_path / "run" / "weights"), "--data", str(data)]) == 0
    figures = json.loads(capsys.readouterr().out)
    names = {"close_side", "close_small_side", "answer_close_ece", "answer_close_large_side_disputes_surest"}
    assert names <= figures.keys()
    packed = (folder / "model.onnx").read_bytes()
    assert main(["judge-pack", "--packed", "--data", str(data)]) == 0
    assert json.loads(capsys.readouterr().out) == figures
    assert (folder / "model.onnx").read_bytes() == packed
    judge = embedded.load_judge()
    assert judge.name != before.name
    pair = Pair("Zoos should close.", "Zoos keep animals in small rooms.", "Zoos should stay open.")
    there, back = judge.score_both([pair], closely=True), judge.score_both([swap_statements(pair)], closely=True)
    assert there.tolist() == back[:, ::-1].tolist()
    assert ((there > 0) & (there < 1)).all()


Row = dict[str, Any]


def write_judge_data(folder: Path) -> Path:
    """`judge/` and `berds/` under the folder: passages labelled by side, questions, development pairs."""
    cases = load_samples().cases
    read, asked, developed = cases[:14], cases[14:20], cases[20:23]
    train = folder / "judge" / "train"
    train.mkdir(parents=True)
    (folder / "berds").mkdir()
    _write(train / "read_labels.jsonl.gz", [row for case in read for row in _labelled(case)])
    _write(train / "procon20.jsonl.gz", [row for case in asked for row in _questioned(case)])
    lines = [json.dumps(row) for case in read[:6] for row in [_expanded(case)]]
    (folder / "berds" / "kialo.dev.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [json.dumps(row) for case in developed for row in _pairs(case)]
    (folder / "judge" / "berds_pairs.dev.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _write(path: Path, rows: list[Row]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _texts(case: Case) -> Iterator[tuple[str, bool]]:
    for stance, names in case.gold.items():
        for name in sorted(names):
            text = (FOLDER.parent / name).read_text(encoding="utf-8")
            yield markdown_document(text, name)[0].text, stance == "supports"


def _statements(case: Case) -> tuple[str, str]:
    """Two contrary statements on the question; what they say is of no matter here."""
    about = case.question.rstrip("?")
    return f"It is so: {about}.", f"It is not so: {about}."


def _labelled(case: Case) -> Iterator[Row]:
    for text, agrees in _texts(case):
        for statement, right in zip(_statements(case), (agrees, not agrees), strict=True):
            label = "support" if right else "oppose"
            yield {"group": case.question, "statement": statement, "passage": text, "label": label}


def _questioned(case: Case) -> Iterator[Row]:
    for text, agrees in _texts(case):
        label = "support" if agrees else "oppose"
        yield {"group": case.question, "statement": case.question, "passage": text, "label": label}


def _expanded(case: Case) -> Row:
    texts = {agrees: text for text, agrees in _texts(case)}
    told = [{"name": word, "text": f"{word}, {texts[agrees][:300]}"} for word, agrees in (("Yes", True), ("No", False))]
    return {"question": case.question, "perspectives": list(_statements(case)), "expansions": told}


def _pairs(case: Case) -> Iterator[Row]:
    for text, agrees in list(_texts(case))[:8]:
        for statement, right in zip(_statements(case), (agrees, not agrees), strict=True):
            yield {"question": case.question, "document": text, "perspective": statement, "label": int(right)}


PASSAGE = (
    "A ferry that runs every hour through the night keeps the nurses and bakers of an island at home on it, "
    "where a bridge would let the mainland buy their houses within a summer or two."
)
FOG = (
    "Those who have sat an hour in the fog waiting for a cancelled boat, with a child to be fetched at the other "
    "end, do not need a survey to know what the bridge is for."
)
APART = "Paint on a hull has to be scraped off and put on again each spring before the first guests come aboard."
THIRD = "A toll of four coins a crossing pays for the lamps, the keeper and the salt, and leaves a little for the quay."


def overlaps(training: Mapping[str, Sequence[Example]], evaluated: Iterable[Evaluated]) -> Iterator[str]:
    """A line for each file and data set that share questions, statements or runs of words."""
    for one in evaluated:
        questions, passages = {key(text) for text in one.asked}, runs(one.passages)
        for name, taught in training.items():
            asked = {key(t) for e in taught for t in (e.group, e.statement, *dict(e.wordings))} & questions
            texts = runs(text for e in taught for text in (e.text, e.placed))
            copied = {passages[run] for run in passages.keys() & texts.keys()}
            for what, shared in (("questions or statements", asked), ("passages", copied)):
                if shared:
                    yield f"{one.name} and {name} share {len(shared)} {what}, such as {min(shared)[:80]!r}."


def runs(texts: Iterable[str]) -> dict[int, str]:
    return {run: text for text in set(texts) for run in shingles(text)}


def example(text: str, group: str = "Boats", statement: str = "Boats last.") -> Example:
    return Example(statement, text, (1, 0, 0), "made", group)


def made_up(folder: Path) -> Path:
    """Data whose first four training rows share something with evaluation data."""
    for part in ("judge/train", "retrieval"):
        (folder / part).mkdir(parents=True)
    pair = {"question": "Is a bridge needed?", "document": PASSAGE, "perspective": "A bridge is needed.", "label": 0}
    (folder / "judge/berds_pairs.dev.jsonl").write_text(json.dumps(pair) + "\n")
    (folder / "retrieval/isle.corpus.jsonl").write_text(
        "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in (("a", FOG), ("b", THIRD)))
    )
    query = {
        "qid": "1",
        "question": "Should the boats stop?",
        "perspectives": [{"statement": "The boats should stop.", "gold": ["a"]}],
    }
    (folder / "retrieval/isle_1way.queries.jsonl").write_text(json.dumps(query) + "\n")
    rows = [(PASSAGE, "x"), (FOG, "x"), (APART, "Should the boats stop?"), (f"{APART} No.", "The boats should stop.")]
    rows += [(" ".join(f"{word}{year}" for word in APART.split()), f"Tolls of {year}") for year in range(1900, 1930)]
    with gzip.open(folder / "judge/train/made.jsonl.gz", "wt") as out:
        for passage, group in rows:
            row = {"passage": passage, "group": group, "statement": f"{group} is right.", "label": "support"}
            out.write(json.dumps(row) + "\n")
    return folder


def test_the_loader_leaves_out_evaluation_data(tmp_path: Path) -> None:
    data = made_up(tmp_path)
    unsplit = [example(PASSAGE), example(FOG), example(APART, "Should the boats stop?")]
    found = list(overlaps({"made": unsplit}, read_evaluated(data)))
    assert [line.split(", such")[0] for line in found] == [
        "berds_pairs.dev and made share 1 passages",
        "isle_1way and made share 1 questions or statements",
        "isle_1way and made share 1 passages",
    ]
    corpus = load_corpus(data)
    assert list(overlaps(corpus.training, read_evaluated(data))) == []
    kept = {e.text for e in corpus.training["made"]}
    assert not kept & {PASSAGE, FOG, APART, f"{APART} No."}
    assert 15 < len(kept) <= 30  # the others, less those held out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_judge_is_trained_on_evaluation_data_or_held_out_data() -> None:
    folder = Path(os.environ.get("STEELMAN_EVAL_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs ../shared/data, or STEELMAN_EVAL_DATA")
    evaluated, corpus = list(read_evaluated(folder)), load_corpus(folder)
    assert all(one.asked and one.passages for one in evaluated)
    held = [e for examples in corpus.held_out.values() for e in examples]
    questions, texts = frozenset(e.group for e in held), frozenset(e.text for e in held)
    assert sum(map(len, corpus.training.values())) > 1000
    assert list(overlaps(corpus.training, [*evaluated, Evaluated("held out", questions, texts)])) == []
