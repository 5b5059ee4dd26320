"""NLI models as judges against what Transformers gives by hand; the models are tiny, random and made here."""

import importlib.util
import json
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from numpy.typing import NDArray

from agent.__main__ import main
from agent.doctor.checkup import examine, parts
from agent.doctor.stages import stages
from agent.providers.judging import build_judge, build_own_judge
from agent.settings import Settings, load_settings
from evals.judges import open_judge, stances_of
from tools.errors import ModelError, SettingsError
from tools.inference.encoders.encoder import minilm_recipe
from tools.inference.judges.judge import CloseJudge, Pair, StanceJudge
from tools.inference.judges.nli import Labels, NliJudge, read_labels
from tools.inference.judges.presets import DEFAULT, NLI
from tools.inference.judges.windows import windows

THREE, TWO = ("entailment", "neutral", "contradiction"), ("entailment", "not_entailment")
FOR, AGAINST = "Zoos should close.", "Zoos should stay open."
TEXTS = [
    "Zoos teach.",
    "A city that builds more homes has lower rents, and its streets have more people than before.",
    "Animals in small rooms walk in circles, and no sign on the wall makes that a lesson.",
]
PAIRS = [Pair(FOR, text, AGAINST) for text in TEXTS]
REVISION, OLDER = "0123456789" * 4, "9876543210" * 4
slow = pytest.mark.slow
Place = Callable[..., Path]


def word_pieces() -> Any:
    """The embedded encoder's tokenizer, as Transformers knows it."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer.from_file(str(minilm_recipe().tokenizer))
    inner.no_padding()
    inner.no_truncation()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=512, **names)


def tiny_nli(folder: Path, labels: Sequence[str] = THREE, *, deberta: bool = False, seed: int = 0) -> str:
    """The folder with a random classifier of two layers in it: a BERT, or a DeBERTa of the presets' kind."""
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = word_pieces()
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    shape |= {"vocab_size": len(tokenizer), "intermediate_size": 32, "initializer_range": 0.5}
    shape |= {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
    if deberta:
        shape |= {"type_vocab_size": 0, "relative_attention": True, "position_buckets": 16, "share_att_key": True}
        shape |= {"pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "norm_rel_ebd": "layer_norm"}
    kind = "DebertaV2" if deberta else "Bert"
    config = getattr(transformers, f"{kind}Config")(**shape)
    getattr(transformers, f"{kind}ForSequenceClassification")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def by_hand(folder: str, text: str, statement: str) -> dict[str, float]:
    """The probability of each label of one pair that is read by itself."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(text, statement, return_tensors="pt", truncation=True)
    with torch.inference_mode():
        row = model(**tokens).logits[0].softmax(dim=-1).tolist()
    return {model.config.id2label[i]: p for i, p in enumerate(row)}


def judge_of(folder: str, **options: Any) -> NliJudge:
    return NliJudge(folder, device="cpu", **options)


def write_config(folder: Path, **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields))
    return folder


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    """Gives the folder that a commit of a model of the hub lies in once it was downloaded."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def place(model: str, commit: str = REVISION, *, last: bool = True) -> Path:
        repository = tmp_path / "hub" / f"models--{model.replace('/', '--')}"
        folder = repository / "snapshots" / commit
        folder.mkdir(parents=True)
        (repository / "refs").mkdir(exist_ok=True)
        if last:
            (repository / "refs" / "main").write_text(commit)
        return folder

    return place


# The presets


def test_every_preset_is_whole_and_another() -> None:
    assert len({p.model for p in NLI.values()}) == len(NLI)
    assert NLI[DEFAULT].licence
    for name, preset in NLI.items():
        assert name == name.lower()
        assert not set(name) & set("/@ ")
        assert preset.model.count("/") == 1
        assert preset.labels in (2, 3)
        assert len(preset.revision) in (0, 40)


def test_the_documents_table_is_that_of_the_code() -> None:
    lines = (ROOT / "docs" / "providers.md").read_text().splitlines()
    told = {line.strip("| ").split("`")[1]: line for line in lines if line.startswith("| `deberta-")}
    assert told.keys() == NLI.keys()
    for name, preset in NLI.items():
        size = f"{preset.megabytes} MB" if preset.megabytes else "–"
        cells = [cell.strip() for cell in told[name].strip("|").split("|")]
        model = f"`{preset.model}`" + (f" at `{preset.revision[:7]}`" if preset.revision else "")
        rest = [str(preset.labels), f"{preset.parameters} million", size, preset.licence or "–"]
        assert cells[1:] == [model, *rest], name


# The settings


def test_a_server_and_a_model_of_this_process_cannot_both_judge() -> None:
    with pytest.raises(SettingsError, match=r"STEELMAN_JUDGE is 'nli'.*unset STEELMAN_JUDGE_URL"):
        load_settings(judge="nli", judge_url="http://127.0.0.1:1/v1", judge_model="m")


@pytest.mark.parametrize("provider", ["auto", "embedded"])
def test_no_server_is_asked(provider: str) -> None:
    settings = load_settings(judge="nli", provider=provider, openai_api_key="k")
    assert build_judge(settings) is None
    [served] = {s.provider for s in stages(settings) if s.stage in ("judge", "verify")}
    assert served == DEFAULT
    [line] = [s for s in stages(load_settings(judge="nli", judge_model="a/b@c")) if s.stage == "judge"]
    assert (line.provider, line.address, line.fallback) == ("a/b@c", "", "")


def test_a_prompt_is_of_no_use_to_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="of use to a chat model only"):
        build_judge(load_settings(judge="nli", judge_prompt=tmp_path / "p.txt"))


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="the extra is installed")
def test_without_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"the judge deberta-.* needs the extra 'models'.*pip install torch"):
        build_own_judge(load_settings(judge="nli"))
    monkeypatch.setenv("STEELMAN_JUDGE", "nli")
    assert main(["ask", "Should zoos close?", "--quick"]) == 2
    assert "needs the extra 'models'" in capsys.readouterr().err


# Finding a model


@slow
def test_a_model_that_is_not_here(cached: Place) -> None:
    cached("somebody/other")
    with pytest.raises(ModelError, match=r"no folder 'somebody/nli'.*`hf download somebody/nli`"):
        NliJudge("somebody/nli")
    with pytest.raises(ModelError, match=rf"at the revision {OLDER} on.*`hf download somebody/nli --revision {OLDER}`"):
        NliJudge(f"somebody/nli@{OLDER}")
    preset = NLI["deberta-base-anli"]
    with pytest.raises(ModelError, match=rf"`hf download {preset.model} --revision {preset.revision}`"):
        NliJudge("deberta-base-anli")
    with pytest.raises(ModelError, match=rf"`hf download {NLI[DEFAULT].model}`"):
        NliJudge()
    with pytest.raises(ModelError, match=rf"Did you mean '{DEFAULT}'\? The presets are: deberta-base-zeroshot-c, "):
        NliJudge("deberta-zeroshot-c")


@slow
def test_a_revision_is_read_as_it_is_named(cached: Place) -> None:
    tiny_nli(cached("somebody/nli"))
    tiny_nli(cached("somebody/nli", OLDER, last=False), seed=1)
    last, older = NliJudge("somebody/nli"), NliJudge(f"somebody/nli@{OLDER}")
    assert NliJudge(f"somebody/nli@{REVISION}").name == last.name
    assert last.name.startswith("nli-nli-")
    assert older.name != last.name
    assert np.abs(older.score(PAIRS) - last.score(PAIRS)).max() > 0.01


@slow
def test_presets_are_found_by_their_names(cached: Place) -> None:
    tiny_nli(cached(NLI[DEFAULT].model), TWO, deberta=True)
    preset = NLI["deberta-large-wanli"]
    tiny_nli(cached(preset.model, preset.revision, last=False), deberta=True)
    assert NliJudge().name.startswith("nli-deberta-v3-base-zeroshot-v2.0-c-")
    assert NliJudge("deberta-large-wanli").name.startswith("nli-DeBERTa-v3-large-mnli-fever-anli-ling-wanli-")


@slow
def test_the_name_follows_what_is_computed(tmp_path: Path) -> None:
    one, other = (judge_of(tiny_nli(tmp_path / str(seed) / "nli", seed=seed)) for seed in range(2))
    assert one.name != other.name
    folder = Path(shutil.copytree(tmp_path / "0" / "nli", tmp_path / "again" / "nli"))
    assert judge_of(str(folder)).name == one.name
    config = json.loads((folder / "config.json").read_text())
    write_config(folder, **config | {"id2label": dict(enumerate(reversed(THREE)))})
    assert judge_of(str(folder)).name != one.name


# Labels


@pytest.mark.parametrize(
    ("labels", "meant"),
    [
        (["entailment", "neutral", "contradiction"], Labels(0, 2)),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], Labels(2, 0)),
        (["contradiction", " Entailment", "neutral"], Labels(1, 0)),
        (["entailment", "not_entailment"], Labels(0)),
        (["not-entailment", "Entailment"], Labels(1)),
        (["Not Entailment", "Entailment"], Labels(1)),
    ],
)
def test_labels_by_any_order_and_case(labels: list[str], meant: Labels, tmp_path: Path) -> None:
    named = {str(i): name for i, name in enumerate(labels)}
    folder = write_config(tmp_path, architectures=["DebertaV2ForSequenceClassification"], id2label=named)
    assert read_labels(folder) == meant


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (None, "has no named labels"),
        (["LABEL_0", "LABEL_1"], "has the labels LABEL_0, LABEL_1"),
        (["entailment", "contradiction"], "has the labels entailment, contradiction"),
        (["entailment", "Entailment", "neutral", "contradiction"], "has the labels entailment, Entailment"),
        (["positive", "neutral", "negative"], "has the labels positive, neutral, negative"),
    ],
)
def test_other_labels_are_refused(labels: list[str] | None, said: str, tmp_path: Path) -> None:
    named = {str(i): name for i, name in enumerate(labels)} if labels else None
    write_config(tmp_path, architectures=["BertForSequenceClassification"], id2label=named)
    with pytest.raises(ModelError, match=rf"{said}.*entailment, contradiction and neutral, or entailment and not_ent"):
        read_labels(tmp_path)


def test_a_model_without_weights_that_classify_is_refused(tmp_path: Path) -> None:
    """It would be given random ones; a multiple-choice model may bear the labels of what it was made from."""
    named = {str(i): name for i, name in enumerate(TWO)}
    for classes in ([], ["BertModel"], ["DebertaV2ForMultipleChoice"]):
        write_config(tmp_path, architectures=classes, id2label=named)
        with pytest.raises(ModelError, match="is no NLI model: it has no weights that classify a pair"):
            read_labels(tmp_path)


@slow
@pytest.mark.parametrize("lost", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_model_with_a_file_missing_or_damaged(lost: str, tmp_path: Path) -> None:
    """A wrong config.json is found when the judge is made, the rest when it is first asked."""
    folder = tiny_nli(tmp_path)
    judge_of(folder)
    (tmp_path / lost).write_text("{")
    with pytest.raises(ModelError, match=r"cannot be used.*Download it again"):
        judge_of(folder).score(PAIRS)
    (tmp_path / lost).unlink()
    with pytest.raises(ModelError, match=r"cannot be used.*Download it again"):
        judge_of(folder).score(PAIRS)


# Judging


@slow
@pytest.mark.parametrize("deberta", [False, True])
@pytest.mark.parametrize("labels", [THREE, tuple(reversed(THREE)), ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")])
def test_three_labels_tell_both_sides_by_one_reading(labels: Sequence[str], deberta: bool, tmp_path: Path) -> None:
    folder = tiny_nli(tmp_path, labels, deberta=deberta)
    judge = judge_of(folder, threshold=0.7, batch=2)
    assert isinstance(judge, StanceJudge)
    assert not isinstance(judge, CloseJudge)
    assert judge.threshold == judge.sentence_threshold == 0.7
    told = [{k.lower(): p for k, p in by_hand(folder, text, FOR).items()} for text in TEXTS]
    scores, both = judge.score(PAIRS), judge.stances(PAIRS)
    assert scores.dtype == both.dtype == np.float32
    assert both.shape == (3, 2)
    assert scores.tolist() == pytest.approx([t["entailment"] for t in told], abs=1e-5)
    assert both[:, 0].tolist() == pytest.approx(scores.tolist(), abs=1e-6)
    assert both[:, 1].tolist() == pytest.approx([t["contradiction"] for t in told], abs=1e-5)
    assert np.ptp(both, axis=0).min() > 1e-3


@slow
@pytest.mark.parametrize("labels", [TWO, tuple(reversed(TWO))])
def test_two_labels_are_asked_about_each_side(labels: Sequence[str], tmp_path: Path) -> None:
    folder = tiny_nli(tmp_path, labels, deberta=True)
    judge = judge_of(folder)
    entails = [[by_hand(folder, text, side)["entailment"] for side in (FOR, AGAINST)] for text in TEXTS]
    assert judge.score(PAIRS).tolist() == pytest.approx([row[0] for row in entails], abs=1e-5)
    assert judge.stances(PAIRS) == pytest.approx(np.array(entails), abs=1e-5)
    swapped = [Pair(p.contrary, p.text, p.statement) for p in PAIRS]
    assert judge.stances(swapped) == pytest.approx(judge.stances(PAIRS)[:, ::-1], abs=1e-5)
    alone = judge.stances([Pair(FOR, TEXTS[0]), PAIRS[1]])
    assert np.isnan(alone).tolist() == [[False, True], [False, False]]


@slow
def test_the_order_of_the_pairs_is_kept(tmp_path: Path) -> None:
    """They are read by length, each once, in batches: what comes back is in the order that was asked."""
    judge = judge_of(tiny_nli(tmp_path), batch=3)
    draw = np.random.default_rng(0)
    words = " ".join(TEXTS).split()
    texts = [" ".join(draw.choice(words, draw.integers(1, 40))) for _ in range(12)]
    pairs = [Pair(side, text) for text in texts for side in (FOR, AGAINST)]
    pairs = [pairs[i] for i in draw.permutation(len(pairs))] + pairs[:2]
    one_by_one = np.concatenate([judge.score([pair]) for pair in pairs])
    assert judge.score(pairs) == pytest.approx(one_by_one, abs=1e-5)
    assert np.ptp(one_by_one) > 0.01


@slow
@pytest.mark.parametrize("labels", [THREE, TWO])
def test_long_texts_count_by_their_best_window(labels: Sequence[str], tmp_path: Path) -> None:
    folder = tiny_nli(tmp_path, labels)
    judge = judge_of(folder, batch=2)
    text = " ".join(TEXTS * 12)
    assert len(windows(text)) > 3
    told = judge.stances([Pair(FOR, part, AGAINST) for part in windows(text)])
    assert np.ptp(told, axis=0).min() > 1e-4
    pairs = [PAIRS[0], Pair(FOR, text, AGAINST), PAIRS[1]]
    assert judge.stances(pairs)[1] == pytest.approx(told.max(axis=0), abs=1e-5)
    assert judge.score(pairs)[1] == pytest.approx(told[:, 0].max(), abs=1e-5)
    assert judge.stances(pairs)[0] == pytest.approx(judge.stances(PAIRS)[0], abs=1e-5)


@slow
def test_more_than_it_reads_is_cut(tmp_path: Path) -> None:
    folder = tiny_nli(tmp_path)
    word = "qzxjwvkqzxjwvk"  # many tokens
    [score] = judge_of(folder).score([Pair(FOR, " ".join([word] * 120))])
    assert score == pytest.approx(by_hand(folder, " ".join([word] * 120), FOR)["entailment"], abs=1e-5)
    assert np.isfinite(judge_of(folder).score([Pair(" ".join([word] * 900), " ".join([word] * 120))])).all()


@slow
def test_half_precision_is_read_as_single(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = tiny_nli(tmp_path)
    single = judge_of(folder).score(PAIRS)
    AutoModelForSequenceClassification.from_pretrained(folder).to(torch.float16).save_pretrained(folder)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float16"
    judge = judge_of(folder)
    assert judge.score(PAIRS) == pytest.approx(single, abs=0.01)
    assert judge._models()[0].dtype == torch.float32


@slow
def test_nothing_to_judge_and_many_threads(tmp_path: Path) -> None:
    judge = judge_of(tiny_nli(tmp_path))
    assert judge.score([]).shape == (0,)
    assert judge.stances([]).shape == (0, 2)
    expected, found = judge.stances(PAIRS), list[NDArray[np.float32]]()
    threads = [threading.Thread(target=lambda: found.append(judge.stances(PAIRS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.allclose(rows, expected, atol=1e-5) for rows in found)


@slow
def test_numbers_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = tiny_nli(tmp_path)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.classifier.bias.fill_(float("nan"))
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match="numbers that are not finite"):
        judge_of(folder).score(PAIRS)


@slow
def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be used"):
        NliJudge(tiny_nli(tmp_path), device="cuda:99").score(PAIRS)


# In the agent


@pytest.fixture
def turned_on(tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The judge in the environment's settings, over the built encoder and nothing outside."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cache").symlink_to(models_dir)
    monkeypatch.setenv("STEELMAN_PROVIDER", "embedded")
    monkeypatch.setenv("STEELMAN_JUDGE", "nli")
    monkeypatch.setenv("STEELMAN_JUDGE_MODEL", tiny_nli(tmp_path / "tiny", deberta=True))
    monkeypatch.setenv("STEELMAN_JUDGE_THRESHOLD", "0.3")
    return load_settings()


@slow
def test_it_is_the_judge_that_the_settings_name(turned_on: Settings) -> None:
    judge = build_own_judge(turned_on)
    assert isinstance(judge, NliJudge)
    assert judge.threshold == pytest.approx(0.3)
    [part] = [p for p in parts(turned_on) if p.name == "judge"]
    found = examine(part)
    assert found.state == "ok"
    assert found.detail == f"{judge.name}, accepts a passage from 0.30 on, in this process by Transformers"
    assert "judge server" not in [p.name for p in parts(turned_on)]


@slow
@pytest.mark.parametrize("choice", ["nli", "settings"])
def test_it_can_be_measured(choice: str, turned_on: Settings) -> None:
    measured, judge = open_judge(choice, 0.5, 0), build_own_judge(turned_on)
    assert (measured.name, measured.threshold, measured.probabilities) == (judge.name, judge.threshold, True)
    assert isinstance(judge, NliJudge)
    assert np.array_equal(stances_of(measured, PAIRS), judge.stances(PAIRS))


@slow
@pytest.mark.timeout(300)
def test_an_answer_from_the_samples(
    turned_on: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random weights are no judgement: it is shown that this judge was asked about passages and sentences, no more."""
    asked: dict[str, list[Pair]] = {"score": [], "stances": []}
    for name, pairs in asked.items():
        monkeypatch.setattr(NliJudge, name, recorded(getattr(NliJudge, name), pairs))
    assert main(["ask", "Should zoos be closed?", "--quick", "--no-web", "--json", "--deadline", "200"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["outcome"], answer["notes"]) == ("answered", [])
    assert answer["providers"]["judge"] == build_own_judge(turned_on).name
    assert answer["usage"]["pairs_judged"] == len(asked["score"]) > 10
    sides = {"Zoos should be closed.", "Zoos should not be closed."}
    assert {p.statement for p in asked["score"]} == {p["statement"] for p in answer["perspectives"]} == sides
    read = {p.text for p in asked["stances"]}
    assert all(claim["text"] in read for side in answer["perspectives"] for claim in side["claims"])


def recorded(method: Callable[..., NDArray[np.float32]], into: list[Pair]) -> Callable[..., NDArray[np.float32]]:
    """The same method, which also notes what it is asked."""

    def asked(judge: NliJudge, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        into.extend(pairs)
        return method(judge, pairs)

    return asked
