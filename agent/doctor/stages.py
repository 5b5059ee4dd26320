"""Which provider serves each stage of a run, as the settings have it; nothing is loaded and no server is asked."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.providers.chats import build_chat, uses_chat
from agent.providers.fallback import EMBEDDED
from agent.providers.judging import build_judge
from agent.providers.retrieval import build_engine
from agent.settings import Settings
from tools.net.http import without_login

_SPEAKING = (
    ("frame", "frame", "reads follow-ups"),
    ("expand", "expand", "plans the sides"),
    ("requery", "queries", "thinks of further queries for sides that are not covered"),
    ("write", "write", "writes the claims"),
)
"""The stages that a chat model may serve: their names, what the settings call them, what they do."""
_ORDER = ("frame", "expand", "search", "web", "judge", "requery", "write", "verify")


@dataclass(frozen=True, slots=True)
class StageProvider:
    """Who serves a stage. `provider` is 'embedded', a model's or an engine's name, or empty for a stage that is off.

    `address` is where that is, empty for this process, and never holds a login. `fallback` is who takes over when the
    provider fails; empty where nobody does, so that the run fails with it.
    """

    stage: str
    does: str
    provider: str
    address: str = ""
    fallback: str = ""


def stages(settings: Settings) -> list[StageProvider]:
    """A line for each stage, in the order of a run. Raises SettingsError for settings that cannot be used."""
    lines = {
        line.stage: line for line in (*_speaking(settings), _search(settings), _web(settings), *_judging(settings))
    }
    return [lines[stage] for stage in _ORDER]


def _speaking(settings: Settings) -> Iterator[StageProvider]:
    chat, fallback = uses_chat(settings), "" if settings.provider == "chat" else EMBEDDED
    for stage, setting, does in _SPEAKING:
        if chat:
            model = build_chat(settings, setting)
            yield StageProvider(stage, does, model.name, model.address, fallback)
        else:
            yield StageProvider(stage, does, EMBEDDED)


def _search(settings: Settings) -> StageProvider:
    encoder = settings.embeddings_model or settings.encoder or EMBEDDED
    where = (settings.embeddings_url, settings.chroma_url)
    parts = [encoder, *(["Chroma server"] if settings.chroma_url else []), *filter(None, [settings.reranker])]
    address = ", ".join(dict.fromkeys(without_login(w) for w in where if w))
    return StageProvider("search", "finds passages in your documents", " + ".join(parts), address)


def _web(settings: Settings) -> StageProvider:
    engine = build_engine(settings)
    does = "finds pages on the web"
    return StageProvider("web", does, engine.name, engine.address) if engine else StageProvider("web", does, "")


def _judging(settings: Settings) -> Iterator[StageProvider]:
    """The judge also has the last word on whether a claim holds."""
    judge = build_judge(settings)
    served = (judge.name, without_login(judge.address)) if judge else (EMBEDDED, "")
    fallback = EMBEDDED if judge and settings.judge == "auto" else ""
    yield StageProvider("judge", "says which passage supports which side", *served, fallback)
    yield StageProvider("verify", "checks each claim against its source and its side", *served, fallback)
