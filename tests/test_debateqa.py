"""The suite `debateqa`: perplexities against a model's own logits and by hand, whole runs with a played judge."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from tiny_models import CONTEXT, save_chat_model

from evals.__main__ import main
from evals.metrics.perplexity import LanguageModel, mean_perplexity

BRIDGES: dict[str, Any] = {
    "id": 1,
    "question": "Should towns build bridges?",
    "partial_answers": [
        {"point_of_view": "Trade", "explanation": "Farmers sell on both banks."},
        {"point_of_view": "Nature", "explanation": "Birds nest in the reeds below, and a bridge shades them all day."},
        {"point_of_view": "Cost", "explanation": "No."},
    ],
}
BELLS: dict[str, Any] = {
    "id": 2,
    "question": "Should bells ring at night?",
    "partial_answers": [{"point_of_view": "Sleep", "explanation": "Children wake."}],
}
SAID = "Some say that bridges help, others that they harm. It is disputed."


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_perplexity_by_hand() -> None:
    # Two tokens of probability 1/2 and 1/8: exp(½ · ln 16) = 4. One token of probability 1/10: 10.
    assert mean_perplexity([(math.log(2) + math.log(8), 2)]) == pytest.approx(4)
    assert mean_perplexity([(math.log(16), 2), (math.log(10), 1)]) == pytest.approx(7)


Measured = Callable[..., Any]


@pytest.fixture
def measured(server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Measured:
    """Runs the suite with the played server; returns the result, or what is said of bad input."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "played")

    def run(data: Path, answers: Path, *arguments: object, status: int = 0) -> Any:
        capsys.readouterr()
        files = ["--data", str(data), "--answers", str(answers)]
        assert main(["debateqa", *files, *map(str, arguments), "--json"]) == status
        said = capsys.readouterr()
        return said.err if status else json.loads(said.out)

    return run


def test_awareness_is_asked_once_for_each_answer(server: ModelServer, measured: Measured, tmp_path: Path) -> None:
    server.on(SAID, {"acknowledged": "yes"}, times=1)
    data = write(tmp_path / "test.jsonl", BRIDGES, BELLS)
    answers = write(tmp_path / "answers.jsonl", {"id": 1, "generation": SAID}, {"id": 77, "generation": "Other."})
    found = measured(data, answers, "--out", tmp_path / "records")
    # The question without an answer acknowledges nothing.
    assert found["metrics"] == {
        "questions": 2,
        "missing": 1,
        "perspective_diversity": None,
        "dispute_awareness": 1 / 2,
    }
    assert found["failed"] == ["2: it has no answer"]
    (prompt,) = server.prompts()
    assert "<question>Should towns build bridges?</question>" in prompt
    assert f"<answer>{SAID}</answer>" in prompt
    assert measured(data, answers, "--out", tmp_path / "records")["metrics"] == found["metrics"]


def test_answers_with_sources_are_read_too(server: ModelServer, measured: Measured, tmp_path: Path) -> None:
    server.on("Birds nest.", {"acknowledged": "no"})
    data = write(tmp_path / "test.jsonl", BRIDGES)
    line = {"question": "Should  towns build bridges?", "answer": "Birds nest [1].", "sources": [{"text": "x"}]}
    assert measured(data, write(tmp_path / "a.jsonl", line))["metrics"]["dispute_awareness"] == 0


def test_a_judge_without_a_verdict_is_named(server: ModelServer, measured: Measured, tmp_path: Path) -> None:
    server.on("", {"acknowledged": "perhaps"})
    data = write(tmp_path / "test.jsonl", BRIDGES)
    found = measured(data, write(tmp_path / "a.jsonl", {"id": "1", "generation": SAID}))
    assert (found["metrics"]["dispute_awareness"], found["over"]["dispute_awareness"]) == (None, 0)
    assert found["failed"][0].startswith("1 awareness: ")


@pytest.mark.parametrize(
    ("data", "answers", "says"),
    [
        ([], [], "test.jsonl has no questions"),
        ([{"id": 1, "question": "x"}], [], "test.jsonl line 1: 'partial_answers': Field required"),
        ([BRIDGES | {"partial_answers": []}], [], "'partial_answers': list should have at least 1 item"),
        ([BRIDGES | {"partial_answers": [{"point_of_view": "x"}]}], [], "item 1 'explanation': Field required"),
        ([BRIDGES, BRIDGES], [], "line 2: 'id' is '1', as in line 1"),
        ([BRIDGES], [{"id": 9, "generation": "x"}], "a.jsonl answers no question of the data"),
        ([BRIDGES], [{"generation": "x"}], "a.jsonl line 1: 'id': Field required"),
        ([BRIDGES], [{"id": 1, "generation": "x"}, {"id": 1, "generation": "y"}], "line 2: 'id' is '1'"),
        ([BRIDGES], [{"id": 1, "generation": "x"}, {"id": 2}], "line 2: 'generation': Field required"),
        ([BRIDGES], [], "a.jsonl has no answers"),
    ],
)
def test_a_bad_file_is_named(
    measured: Measured, tmp_path: Path, data: list[Any], answers: list[Any], says: str
) -> None:
    files = write(tmp_path / "test.jsonl", *data), write(tmp_path / "a.jsonl", *answers)
    assert says in measured(*files, status=2)


def test_something_must_be_measured(measured: Measured, tmp_path: Path) -> None:
    assert "Name a model with --lm" in measured(tmp_path, tmp_path, "--no-awareness", status=2)


# --- with the extra 'models' ------------------------------------------------------------------------------------------

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("lm")
    save_chat_model(folder)
    return folder


def token_by_token(folder: Path, before: str, text: str) -> tuple[float, int]:
    """The loss of the text's tokens, each from a forward pass of its own, without batch or padding."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(before, add_special_tokens=False).input_ids
    own, loss = tokenizer(text, add_special_tokens=False).input_ids, 0.0
    for token in own:
        with torch.inference_mode():
            loss -= float(model(torch.tensor([ids])).logits[0, -1].double().log_softmax(-1)[token])
        ids = [*ids, token]
    return loss, len(own)


TEXTS = [
    "No.",
    "Farmers sell on both banks.",
    "A much longer text about birds, reeds and bridges. " * 5,
    "x",
    "Yes, no",
]


@slow
def test_only_the_texts_own_tokens_count_and_the_batch_changes_nothing(tiny: Path) -> None:
    lm = LanguageModel(str(tiny))
    turn = f"<|turn|>user\n{SAID}<|end|>\n<|turn|>assistant\n"
    expected = [token_by_token(tiny, turn, text) for text in TEXTS]
    together = lm.losses(SAID, TEXTS)
    assert [tokens for _, tokens in together] == [tokens for _, tokens in expected]
    assert [loss for loss, _ in together] == pytest.approx([loss for loss, _ in expected], rel=1e-5)
    alone = [lm.losses(SAID, [text])[0][0] for text in TEXTS]
    assert [loss for loss, _ in together] == pytest.approx(alone, rel=1e-6)
    assert len({*alone}) == len(TEXTS)


@slow
def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity(tiny: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(tiny), AutoTokenizer.from_pretrained(tiny)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    tokenizer.chat_template = None
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    losses = LanguageModel(str(tmp_path)).losses(SAID, TEXTS)
    assert mean_perplexity(losses) == pytest.approx(model.config.vocab_size)


@slow
def test_a_whole_run(tiny: Path, server: ModelServer, measured: Measured, tmp_path: Path) -> None:
    server.on(SAID, {"acknowledged": "yes"}).on("ring", {"acknowledged": "no"})
    data = write(tmp_path / "test.jsonl", BRIDGES, BELLS, BELLS | {"id": 3})
    rows = [{"id": 1, "generation": SAID}, {"id": 2, "generation": "They ring. " * CONTEXT}]
    answers = write(tmp_path / "answers.jsonl", *rows)
    found = measured(data, answers, "--lm", tiny, "--out", tmp_path / "records")
    lm = LanguageModel(str(tiny))
    texts = [f"{p['point_of_view']}. {p['explanation']}" for p in BRIDGES["partial_answers"]]
    first = mean_perplexity(lm.losses(f"{SAID} Please restate.", texts))
    third = mean_perplexity(lm.losses(" Please restate.", ["Sleep. Children wake."]))
    assert found["metrics"]["perspective_diversity"] == pytest.approx((first + third) / 2)
    assert found["metrics"]["dispute_awareness"] == pytest.approx(1 / 3)
    assert [line.partition(": ")[2][-16:] for line in found["failed"]] == [f"which are {CONTEXT}.", "it has no answer"]
    alone = measured(data, answers, "--lm", tiny, "--no-awareness", "--limit", 3)
    assert alone["metrics"]["dispute_awareness"] is None
    assert alone["metrics"]["perspective_diversity"] == pytest.approx((first + third) / 2)


@slow
def test_a_model_that_is_not_here_is_named(measured: Measured, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    data = write(tmp_path / "test.jsonl", BRIDGES)
    answers = write(tmp_path / "a.jsonl", {"id": 1, "generation": SAID})
    said = measured(data, answers, "--lm", tmp_path / "gone", "--no-awareness", status=1)
    assert "there is no folder" in said
