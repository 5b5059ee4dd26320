"""Steelman's own words in other languages: nothing is left out of the catalogues, and they keep to the messages."""

import ast
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from messages import ROOT, catalogue, error_sentences, messages, name_of, text_of

from agent.settings import load_settings
from tools.errors import SettingsError
from tools.language.lexicon import count
from tools.translation import (
    ERROR,
    LANGUAGES,
    decimal,
    grouped,
    in_marks,
    labelled,
    speaking,
    tr,
    translated,
    user_language,
    with_values,
)

OTHERS = [language for language in LANGUAGES if language != "en"]
_VALUE = re.compile(r"\{\w*\}|%\w")


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_every_message_and_no_other(language: str) -> None:
    known, used = catalogue(language), messages()
    assert len(used) > 500
    lacking = [f"{place}: {message}" for message, place in used.items() if not _translations(known, message)]
    assert lacking == []
    assert [m.id for m in known if m.id and m.id not in used and m.context != ERROR] == []
    errors = {m.id for m in known if m.context == ERROR and m.string}
    assert errors ^ {*error_sentences()} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_values_lines_and_commands(language: str) -> None:
    known = catalogue(language)
    for message in messages():
        for text, said in zip(_forms(message), _translations(known, message), strict=True):
            assert sorted({*_VALUE.findall(text)}) == sorted({*_VALUE.findall(said)}), said
            assert text.endswith("\n") == said.endswith("\n"), said
            _keeps_commands(text, said)


def _keeps_commands(text: str, translated: str) -> None:
    for word in re.findall(r"--[a-z-]+|`[^`{]+`|[A-Z]+_[A-Z_]+|python -m \w+", text):
        assert word in translated or word == "YOUR_FOLDER", translated


@pytest.mark.parametrize("language", OTHERS)
def test_each_sentence_of_errors_is_translated_with_its_values(language: str) -> None:
    known = {str(m.id): str(m.string) for m in catalogue(language) if m.context == ERROR}
    for sentence, said in known.items():
        values = [f"«{number}»" for number in range(sentence.count("{"))]
        with speaking(language):
            shown = translated(with_values(sentence, values))
        assert shown.rstrip(".") == with_values(said, values).rstrip("."), sentence
        assert sorted(_VALUE.findall(sentence)) == sorted(_VALUE.findall(said)), said
        _keeps_commands(sentence, said)


def test_the_values_of_an_error_are_not_read_as_errors() -> None:
    with speaking("de"):
        assert translated("there is no collection 'Try again'. Give another name.") == (
            "es gibt keine Sammlung 'Try again'. Nennen Sie einen anderen Namen."
        )


@pytest.mark.parametrize(
    "hostile", ["Skipped: ", "x: no rows", ": this is not , or a damaged one (", ". ", "' '", "{0}"]
)
def test_an_error_with_a_hostile_value_is_translated_at_once(hostile: str) -> None:
    started = time.process_time()
    with speaking("de"):
        for size in (3_000, 100_000):
            assert translated(f"collection '{hostile * (size // len(hostile))}").startswith(("collection", "Sammlung"))
    assert time.process_time() - started < 3


def _forms(message: str | tuple[str, str]) -> tuple[str, ...]:
    return message if isinstance(message, tuple) else (message,)


def _translations(known: object, message: str | tuple[str, str]) -> tuple[str, ...]:
    found = known.get(_forms(message)[0])  # type: ignore[attr-defined]  # a catalogue
    texts = found.string if found and isinstance(found.string, tuple) else (found.string if found else "",)
    return texts if all(texts) and len(texts) == len(_forms(message)) else ()


# --- no message of the page or the command line is without `tr`

_SHOWN = (
    "title line small warning error button popover expander text_input text_area checkbox selectbox multiselect pills "
    "segmented_control radio file_uploader form_submit_button spinner download_button progress print link markdown "
    "menu_button"
).split()
_PARSED = ("add_parser", "add_argument", "ArgumentParser")
_NAMED = ("help", "placeholder", "description", "epilog", "label")
_PLAIN = re.compile(r"<[^>]*>|:small\[|[Ss]teelman:?|&nbsp;|\bMB\b")
"""What is the same in all languages: markup and names."""


def places() -> list[Path]:
    commands = [f for f in (ROOT / "agent" / "commands").glob("*.py") if f.name != "langgraph_server.py"]
    return [*(ROOT / "ui").glob("*.py"), *commands, ROOT / "agent" / "__main__.py"]


def shown(call: ast.Call) -> Iterator[ast.expr]:
    name = name_of(call)
    if name in _SHOWN:
        yield from call.args if name == "print" else call.args[:1]
    if name in (*_SHOWN, *_PARSED):
        yield from (named.value for named in call.keywords if named.arg in _NAMED)


def literals(node: ast.expr) -> Iterator[str]:
    """The texts of an expression that its reader sees as they are."""
    if isinstance(node, ast.IfExp):
        yield from (*literals(node.body), *literals(node.orelse))
    elif isinstance(node, ast.BinOp):
        yield from (*literals(node.left), *literals(node.right))
    elif isinstance(node, ast.JoinedStr):
        yield from (text_of(part) for part in node.values)
    else:
        yield text_of(node)


@pytest.mark.parametrize("file", places(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_what_a_person_sees_is_translated(file: Path) -> None:
    calls = (node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    texts = (text for call in calls for node in shown(call) for text in literals(node))
    assert [text for text in texts if re.search(r"[A-Za-z]{2}", _PLAIN.sub("", text))] == []


# --- choosing a language


@pytest.mark.parametrize(
    ("given", "language"),
    [
        ({}, "en"),
        ({"LANG": "de_AT.UTF-8"}, "de"),
        ({"LANG": "fr"}, "fr"),
        ({"LANG": "de_DE", "LC_ALL": "es_MX.UTF-8"}, "es"),
        ({"LANG": "de_DE", "LC_ALL": "C"}, "en"),
        ({"LC_ALL": "de_DE", "STEELMAN_LANGUAGE": "fr"}, "fr"),
        ({"LANG": "it_IT.UTF-8"}, "en"),
        ({"LANG": "deu"}, "en"),
    ],
)
def test_the_environment_chooses(given: dict[str, str], language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STEELMAN_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert user_language() == language
    monkeypatch.setattr("tools.translation._locale", [])  # as in a server for programs
    assert tr("Sources") == "Sources"
    monkeypatch.setattr("tools.translation._locale", [lambda: None])
    assert tr("Yes") == {"en": "Yes", "de": "Ja", "fr": "Oui", "es": "Sí"}[language]


@pytest.mark.parametrize(
    ("locale", "language"), [("fr-CA", "fr"), ("de", "de"), ("it-IT", "en"), (None, "es"), ("", "es")]
)
def test_a_visitors_browser_comes_before_the_server(
    locale: str | None, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "es_ES.UTF-8")
    monkeypatch.setattr("tools.translation._locale", [lambda: locale])
    assert tr("Yes") == {"en": "Yes", "de": "Ja", "fr": "Oui", "es": "Sí"}[language]
    monkeypatch.setenv("STEELMAN_LANGUAGE", "de")
    assert tr("Yes") == "Ja"


def test_a_settings_file_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings").write_text("STEELMAN_LANGUAGE=fr\n")
    monkeypatch.setenv("STEELMAN_ENV_FILE", str(tmp_path / "settings"))
    monkeypatch.setenv("STEELMAN_LANGUAGE", "")
    assert user_language() == "en"
    assert load_settings().language == user_language() == "fr"
    monkeypatch.setenv("STEELMAN_LANGUAGE", "it")
    with pytest.raises(SettingsError, match="STEELMAN_LANGUAGE cannot be 'it'"):
        load_settings()


def test_numbers_and_plurals_follow_the_language() -> None:
    assert (count(1200, "passage"), grouped(1200), decimal(2.5)) == ("1,200 passages", "1,200", "2.5")
    with speaking("de"):
        assert (count(1, "source"), count(1200, "source"), decimal(2.5)) == ("1 Quelle", "1.200 Quellen", "2,5")
    with speaking("fr"):
        assert (count(0, "row"), count(2, "row")) == ("0 ligne", "2 lignes")
    with speaking("it"):
        assert count(2, "row") == "2 rows"


def test_help_speaks_the_users_language_and_the_api_english() -> None:
    def said(module: str, language: str) -> str:
        call = [sys.executable, "-m", module, "--help"]
        env = {"STEELMAN_LANGUAGE": language, "PATH": "", "COLUMNS": "100"}
        return subprocess.run(call, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout

    assert "eine Frage beantworten" in said("agent", "de")
    assert "répondre à une question" in said("agent", "fr")
    assert "el puerto" in said("ui", "es")
    assert said("api", "de") == said("api", "en")


def test_marks_and_colons_are_those_of_the_language() -> None:
    text, shown = 'Phones "distract" pupils.', dict[str, str]()
    for language in LANGUAGES:
        with speaking(language):
            shown[language] = labelled("Fokus", in_marks(text))
    assert shown == {
        "en": "Fokus: “Phones ‘distract’ pupils.”",
        "de": "Fokus: „Phones ‚distract‘ pupils.“",
        "fr": "Fokus\u00a0: «\u00a0Phones “distract” pupils.\u00a0»",
        "es": "Fokus: «Phones “distract” pupils.»",
    }


def test_the_words_of_argparse_are_translated() -> None:
    command = [sys.executable, "-m", "agent", "ask", "--deadline", "soon"]
    env = {**os.environ, "STEELMAN_LANGUAGE": "de"}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("Aufruf: ")
    assert run.stderr.endswith("ask: Fehler: --deadline: 'soon' ist kein gültiger Wert (float)\n")
