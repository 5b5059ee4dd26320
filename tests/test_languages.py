"""Questions in other languages: whole runs with a scripted chat model, and with a multilingual encoder alone."""

import asyncio
import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import docx
import pytest
from answering_model import library, library_template, read_request, run  # noqa: F401  # two fixtures
from messages import messages
from model_replies import Body
from model_server import ModelServer, Reply
from search_servers import SearchServer
from web_fixtures import prose, publish, with_web
from web_server import WebServer

from agent.answer.files import to_docx, to_html
from agent.answer.followups import (
    CommandReply,
    counter_question,
    counter_search,
    counter_target,
    run_slash_command,
    stance_of_quotation,
)
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.options import RunOptions, check_question
from agent.runs.build import build_providers
from agent.runs.service import Runs
from agent.settings import load_settings
from agent.stages.expand import reviewed_perspectives
from agent.stages.verify import _Draft
from agent.state import Claim, Perspective, RunState, contrary_statements, local_statement, local_text, shown_sides
from tools.documents.ingest import Ingester
from tools.errors import QuestionError
from tools.language.grounding import figure_hints
from tools.language.identification import code_of_language
from tools.models.encoders import card_languages
from tools.models.judges.checker import ClaimVerdict
from tools.passages import Passage, SourceDocument
from tools.translation import LANGUAGES, speaking, tr

GERMAN = "Sollte man wählen müssen?"
ENGLISH = {"supports": "Voting should be compulsory.", "opposes": "Voting should not be compulsory."}


NO = Perspective(id="p2", name="No", statement="No.", stance="opposes", contrary="", origin="model")


class Player:
    """A chat model that answers in another language. claims: by text, the English sentence that it stands for."""

    def __init__(self, name: str, question: str, sides: dict[str, str], claim: str) -> None:
        self.name, self.question, self.sides, self.claim = name, question, sides, claim
        self.claims: dict[str, str] = {}

    def on(self, server: ModelServer, *, translates: bool = True) -> ModelServer:
        server.on("list the perspectives", self.plan())
        server.on("Read each passage for every side", self.judge)
        server.on("one for each distinct reason", self.write)
        server.on("Check every claim", self.check)
        server.on("Find the one point", self.crux)
        return server.on("Translate each quotation", self.translate if translates else Reply(status=500))

    def plan(self) -> dict[str, Any]:
        sides = [
            {"name": said.partition(" ")[0], "statement": said, "english": ENGLISH[stance], "stance": stance}
            for stance, said in self.sides.items()
        ]
        asked = {"form": "polar", "question": self.question, "language": self.name, "focus": ""}
        return {**asked, "english": "Should voting be compulsory?", "perspectives": sides}

    def judge(self, body: Body) -> dict[str, Any]:
        sides, passages = read_request(body)
        assert set(sides) <= {*ENGLISH.values()} or any(side.startswith("Something other") for side in sides)
        by = {denied: label for text, label in sides.items() if "other" not in text for denied in [" not " in text]}
        verdicts = [
            {"passage": label, "for": [by[" not " in text]], "against": [], "weak": []}
            for text, label in passages.items()
        ]
        return {"verdicts": verdicts, "no_side": [], "off_question": []}

    def write(self, body: Body) -> dict[str, Any]:
        text = body["messages"][-1]["content"]
        assert f"in plain {self.name} that" in text
        assert f"Write reason and text in {self.name}; english:" in text
        written = []
        for number, passage in re.findall(r"\[(\d+)\] (Voting.*?\.)", text)[:3]:
            said = self.claim.format(town=passage.rstrip(".").rpartition(" ")[2])
            self.claims[said] = unescape(passage)
            written.append({"passages": [int(number)], "reason": "R", "text": said, "english": self.claims[said]})
        return {"claims": written, "objections": []}

    def check(self, body: Body) -> dict[str, Any]:
        text = unescape(body["messages"][-1]["content"])
        passages = dict(re.findall(r"\[(P\w+)\] (Voting.*?\.)", text))
        checked = re.findall(r'<claim label="(\w+)" cites="([\w ]*)"[^>]*>(.*?)</claim>', text)
        assert checked
        assert all(said in self.claims or said == self.crux_text for _, _, said in checked)
        hold = [
            label
            for label, cites, said in checked
            if said == self.crux_text or self.claims[said] in [passages[p] for p in cites.split()]
        ]
        others = [{"claim": label, "said": "no", "serves": "yes"} for label, *_ in checked if label not in hold]
        return {"hold": hold, "others": [{**verdict, "corrected": ""} for verdict in others]}

    @property
    def crux_text(self) -> str:
        return self.claim.format(town="Arden, Brill")

    def crux(self, body: Body) -> dict[str, Any]:
        numbers = re.findall(r'<claim number="(\d+)"', body["messages"][-1]["content"])
        english = "The mayor says voting should be compulsory, while the sheriff says it should not."
        return {"text": self.crux_text, "english": english, "claims": [*map(int, numbers)]}

    def translate(self, body: Body) -> dict[str, Any]:
        quoted = re.findall(r'<quotation number="(\d+)">(.*?)</quotation>', body["messages"][-1]["content"])
        assert [*map(int, dict(quoted))] == [*range(1, len(quoted) + 1)]
        return {"translations": [f"{self.name}: {unescape(said)}" for _, said in quoted]}


def german() -> Player:
    sides = {"supports": "Wählen sollte Pflicht sein.", "opposes": "Wählen sollte keine Pflicht sein."}
    return Player("German", "Sollte Wählen Pflicht sein?", sides, "Laut der Zeitung von {town} gilt das.")


def french() -> Player:
    sides = {"supports": "Le vote devrait être obligatoire.", "opposes": "Le vote ne devrait pas être obligatoire."}
    return Player("French", "Le vote devrait-il être obligatoire ?", sides, "Cela vaut, selon le journal de {town}.")


SAID = {
    "German": ("de", "sprechen für Ja", "JA  ", "NEIN  ", "QUELLEN", "Übersetzung eines Modells, ungeprüft: "),
    "French": ("fr", "plaident pour le oui", "OUI  ", "NON  ", "SOURCES", "Traduction d’un modèle, non vérifiée : "),
}


async def answered(player: Player, library: Path, **changes: Any) -> Answer:  # noqa: F811
    with ModelServer(strict=False) as server:
        player.on(server, **changes)
        given = load_settings(openai_base_url=server.url, model="m", data_dir=library)
        return await run(given, 20, player.question, web=False)


@pytest.mark.parametrize("player", [german(), french()], ids=lambda player: player.name)
async def test_everything_of_ours_is_in_the_questions_language(player: Player, library: Path) -> None:  # noqa: F811
    answer = await answered(player, library)
    code, counts, yes, no, sources, translation = SAID[player.name]
    assert (answer.language, answer.neutral_question) == (code, player.question)
    assert answer.english == "Should voting be compulsory?"
    assert [side.statement for side in answer.perspectives] == [*player.sides.values()]
    claims = [claim for side in answer.perspectives for claim in side.claims]
    assert len(claims) == 6
    assert {claim.text for claim in claims} <= {*player.claims}
    assert all("be compulsory, said the" in quote for claim in claims for quote in claim.evidence)
    assert answer.crux
    assert answer.crux.text == player.crux_text
    told = " ".join(to_terminal(answer, 104, bold=False, explain=True).split())
    assert all(part.strip() in told for part in (counts, yes, no, sources, translation))
    ours = [m for m in messages() if isinstance(m, str) and len(m) > 12 and "{" not in m and m.strip()[:1].isupper()]
    assert [m for m in ours if m in told and tr_in(code, m) != m] == []


def tr_in(language: str, message: str) -> str:
    with speaking(language):
        return tr(message)


async def test_both_languages_are_searched(library: Path) -> None:  # noqa: F811
    player = german()
    answer = await answered(player, library)
    for line, stance in zip(answer.coverage, ("supports", "opposes"), strict=True):
        assert {player.sides[stance], ENGLISH[stance]} <= set(line.queries)


async def test_translations_stand_beside_quotations_and_count_for_nothing(library: Path) -> None:  # noqa: F811
    with_them, without = await answered(german(), library), await answered(german(), library, translates=False)
    quotes = {quote for side in with_them.perspectives for claim in side.claims for quote in claim.evidence}
    assert quotes <= with_them.translations.keys()
    assert all(words == f"German: {quote}" for quote, words in with_them.translations.items())
    assert without.translations == {}
    assert [n.text for n in without.notes if n.text.startswith("Die Zitate wurden nicht übersetzt: ")]
    same = ("perspectives", "coverage", "citations", "documents", "summary", "crux", "also")
    assert [getattr(with_them, name) for name in same] == [getattr(without, name) for name in same]
    page = to_html(with_them)
    written = " ".join(p.text for p in docx.Document(io.BytesIO(to_docx(with_them))).paragraphs)
    assert '<html lang="de">' in page
    for made in (page, written):
        assert "Übersetzung eines Modells, ungeprüft: „German: Voting should" in made
        assert "Quellen" in made or "Fuentes" in made


async def test_quotations_beyond_the_limit_are_noted(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr("agent.limits.MOST_TRANSLATED", 2)
    answer = await answered(german(), library)
    assert len(answer.translations) == 2
    assert [n.text for n in answer.notes if "Zitaten wurden" in n.text] == [
        "Nur die ersten 2 von 6 Zitaten wurden übersetzt."
    ]


async def test_the_passages_of_a_given_page_are_chosen_with_the_english_question(
    library: Path,  # noqa: F811
    engine: SearchServer,
    site: WebServer,
) -> None:
    sections = [prose(n, "grow", 12) for n in range(40)]
    sections[30] = "Voting should be compulsory for everybody, said the mayor of Arden to the paper. " * 12
    page = publish(site, "a.example", "/a", sections)
    with ModelServer(strict=False) as server:
        german().on(server)
        settings = load_settings(openai_base_url=server.url, model="m", data_dir=library)
        async with Runs(
            settings, with_web(engine, made=build_providers, engine_seconds=5.0, page_seconds=20.0)
        ) as runs:
            options = RunOptions.of(urls=(page,), deadline_seconds=60.0, max_passages=2)
            run_id = await runs.start(german().question, options)
            await runs.answer(run_id)
            web = runs.providers.store.web
            read = [p.text for p in web.passages(web.passage_ids(run_id)).values()]
    assert len(read) <= 4
    assert any("Voting should be compulsory" in text for text in read)


@pytest.mark.slow
async def test_an_english_answer_has_none_of_it(library: Path) -> None:  # noqa: F811
    with ModelServer(strict=False) as server:
        server.on("", Reply(status=500))
        answer = await run(load_settings(openai_base_url=server.url, model="m", data_dir=library), 10, web=False)
    assert not {"language", "english", "translations"} & answer.model_dump().keys()


async def test_a_reply_to_a_claim_is_asked_for_in_the_answers_language(library: Path) -> None:  # noqa: F811
    answer = await answered(german(), library)
    claim = answer.perspectives[0].claims[0]
    with speaking("de"):
        asked = counter_question(answer, claim)
    assert asked == f"Was spricht gegen ‘{claim.text}’?"
    for typed in (asked, counter_search(answer, str(claim.citations[0])).question, "What speaks against 1?"):
        target = counter_target(typed, [answer])
        assert target
        assert (target["text"], target["language"]) == (claim.text, "de")
        state = RunState(against=target, perspectives=[NO])
        assert contrary_statements(state) == {"p2": ENGLISH["supports"]}  # which every judge reads
    assert counter_target("Was ist los?", [answer]) is None
    assert counter_target(asked, []) is None


async def test_notes_on_what_came_before_the_plan_are_in_the_questions_language(
    library: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.stages.frame.SEARCH_BEFORE_PLAN", 0.0)
    told = [n.text for n in (await answered(german(), library)).notes]
    assert any(text.startswith("Die Seiten wurden ohne Blick in die Dokumente geplant: ") for text in told), told


async def test_a_command_is_answered_in_the_answers_language(library: Path) -> None:  # noqa: F811
    answer = await answered(german(), library)
    reply = run_slash_command("/summarise", answer)
    assert isinstance(reply, CommandReply)
    assert reply.heading == "Kurz gesagt"
    with pytest.raises(QuestionError, match="es gibt keinen Befehl"):
        run_slash_command("/so", answer)


async def test_an_objection_is_compared_in_english(library: Path) -> None:  # noqa: F811
    answer = await answered(german(), library)
    side = answer.perspectives[0]
    objecting = side.model_copy(update={"claims": [], "objections": side.claims})
    stance = stance_of_quotation(answer.model_copy(update={"perspectives": [objecting]}), side.claims[0].text)
    assert stance
    assert (stance[0]["statement"], stance[1]) == (f"No: {ENGLISH['supports']}", f"Yes: {ENGLISH['supports']}")


def test_a_claim_in_a_sources_own_words_is_quoted_in_them() -> None:
    words, english = (
        "Wählen sollte Pflicht sein, sagt der Bürgermeister.",
        "The mayor says voting should be compulsory.",
    )
    passage = Passage(
        id=1, document_id="d", collection="c", position=0, text=f"{words} Punkt.", title="", url="", publisher="",
        kind="unknown", date="", language="de",
    )  # fmt: skip
    claim = Claim(
        perspective="p1", text=english, local=words, passages=[1], support=0.0, role="case", written=True, evidence=[]
    )
    draft = _Draft(claim, "Voting should be compulsory.", (passage,), lambda _: passage.text)
    draft.take(ClaimVerdict(1.0, 1.0))
    draft.take(ClaimVerdict(1.0, 1.0))
    held = draft.verdict(trusted=True)
    assert isinstance(held, dict)
    assert (held["text"], local_text(held), held["written"]) == (words, words, False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_translated_to_nothing(language: str) -> None:
    with speaking(language):
        assert tr("") == ""


@pytest.mark.slow
async def test_with_the_embedded_judge_a_note_says_what_it_reads(library: Path) -> None:  # noqa: F811
    player = german()
    with ModelServer(strict=False) as server:
        server.on("list the perspectives", player.plan())
        server.on("one for each distinct reason", player.write)
        server.on("Check every claim", player.check)
        server.on("", Reply(status=500))
        given = load_settings(openai_base_url=server.url, model="m", judge="embedded", data_dir=library)
        answer = await run(given, 20, player.question, web=False)
    assert [n.text for n in answer.notes if "liest nur Englisch" in n.text]
    assert all(side.claims for side in answer.perspectives)


def test_an_edited_side_is_searched_as_the_person_wrote_it() -> None:
    sides = [
        Perspective(
            id="p1", name="Ja", statement="It should.", local="Es soll.", stance="supports", contrary="", origin="model"
        )
    ]
    seen = shown_sides(sides)
    assert (seen[0]["statement"], "local" in seen[0]) == ("Es soll.", False)
    kept, changed = reviewed_perspectives(seen, sides), reviewed_perspectives([{**seen[0], "statement": "X."}], sides)
    assert (kept[0]["statement"], local_statement(kept[0]), kept[0]["origin"]) == ("It should.", "Es soll.", "model")
    assert (changed[0]["statement"], local_statement(changed[0]), changed[0]["origin"]) == ("X.", "X.", "person")


@pytest.mark.parametrize(
    ("claim", "document", "missing"),
    [
        ("Es kostet 1.500 Pfund.", "It costs 1,500 pounds.", []),
        ("Cela coûte 31 000 livres et 2,5 %.", "It costs 31,000 pounds, 2.5 per cent.", []),
        ("Es kostet 1.600 Pfund.", "It costs 1,500 pounds.", ["not found: 1.600"]),
        ("Im Jahr 2024 waren es 12.", "Twelve in 2024, at 12 places.", []),
    ],
)
def test_figures_are_compared_by_their_digits(claim: str, document: str, missing: list[str]) -> None:
    assert figure_hints(claim, document) == missing


# --- a multilingual encoder, and no chat model

BALLOT = "Eine Wahlpflicht bringt mehr Menschen an die Urnen, und der Gemeinderat von Arden hat sie eingeführt."
VOTE = "Le vote obligatoire amène davantage de personnes aux urnes, dit la mairie de Brill depuis trois ans."
OTHER = "Der Markt von Corby öffnet jeden Samstag um acht Uhr und verkauft Käse, Brot und Äpfel an alle Leute."
CONCEPTS = ("wahl", "vote", "ballot"), ("pflicht", "obligatoire", "compulsory"), ("markt", "market"), ("käse", "cheese")


def concepts(text: str) -> list[float]:
    """A vector in which the words of a concept are the same in each language."""
    return [0.1, *(float(any(word in text.casefold() for word in words)) for words in CONCEPTS)]


async def test_with_a_multilingual_encoder_passages_are_shown_without_sides(tmp_path: Path) -> None:
    with ModelServer(embed=concepts) as server:
        settings = load_settings(
            embeddings_url=server.url, embeddings_model="m", encoder_languages="de,fr", data_dir=tmp_path
        )
        async with Runs(settings) as runs:
            models, search = runs.providers.models, runs.providers.search
            texts = enumerate((BALLOT, VOTE, OTHER))
            documents = [SourceDocument(f"d{n}", text, publisher=f"P{n}") for n, text in texts]
            ingester = Ingester(runs.store, search, models.retrieval_encoder)
            await asyncio.to_thread(ingester.ingest, documents, "town")
            options = RunOptions.of(collections=("town",), web=False, deadline_seconds=20.0)
            run_id = await runs.start("Ist eine Wahlpflicht sinnvoll?", options)
            answer = await runs.answer(run_id)
            with pytest.raises(QuestionError, match="Italian"):
                await runs.start("Il voto dovrebbe essere obbligatorio per tutti?", options)
    assert (answer.outcome, answer.perspectives, answer.language) == ("no_sides", [], "")
    assert [claim.text for claim in answer.also[:2]] == [BALLOT, VOTE]
    told = to_terminal(answer, 104, bold=False)
    assert "The built-in judge reads English only, so what was found is not sorted by side." in " ".join(told.split())


def test_without_such_an_encoder_the_refusal_stays() -> None:
    with pytest.raises(QuestionError, match="does not read as English but as German"):
        check_question(GERMAN)
    with pytest.raises(QuestionError, match="German"):
        check_question(GERMAN, ["fr"])
    assert check_question(GERMAN, ["fr", "de"]) == check_question(GERMAN, ["all"]) == GERMAN


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage:\n- multilingual\n- de\n- fr\nlicense: mit\n---\n# Model", {"all", "de", "fr"}),
        ("---\nlicense: mit\nlanguage: en\n---\n", {"en"}),
        ("---\nlanguage: [de, 'it']\ntags:\n- xy\n---\n", {"de", "it"}),
        ("---\ntags:\n- multilingual\n---\n", set()),
        ("language: de", set()),
        (None, set()),
    ],
)
def test_a_models_card_names_its_languages(card: str | None, languages: set[str], tmp_path: Path) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    assert card_languages(tmp_path) == languages


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("German", "", "de"),
        ("brazilian portuguese", "", "pt"),
        ("English", GERMAN, ""),
        ("", GERMAN, ""),
        ("the language of Goethe", GERMAN, "de"),
    ],
)
def test_a_models_name_of_a_language_becomes_its_code(name: str, text: str, code: str) -> None:
    assert code_of_language(name, text) == code
