"""Names the parts in use: by their technical names, and in plain words."""

from agent.answer.wording import provider_name
from agent.providers.from_settings import build_engine, build_judge, uses_chat
from agent.settings import DEFAULT_MODEL, Settings


def serving(settings: Settings, part: str) -> str:
    """Returns the name of a part's model or provider, 'built in', or an empty text. part: a name of `doctor_checks`."""
    judge, engine = build_judge(settings), build_engine(settings)
    names = {
        "chat model": settings.model or DEFAULT_MODEL,
        "judge": judge.name if judge else "",
        "encoder": settings.embeddings_model or settings.encoder,
        "indexes": "Chroma server" if settings.chroma_url else "",
        "web search": engine.title if engine else "",
        "language": "",
    }
    return (provider_name(names[part]) or "built in") if part in names else ""


def in_plain_words(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Maps plain sentences about the parts in use to the names of the parts that each sentence describes."""
    writer = serving(settings, "chat model") if uses_chat(settings) else ""
    engine = serving(settings, "web search") if build_engine(settings) else ""
    judge = serving(settings, "judge").replace("built in", "Steelman's own model")
    web = f"and the web, with {engine}" if engine else "not the web (no search engine is set)"
    folder = f"on the machine that runs this page, in {settings.data_dir}"
    place = f"in a Postgres database; indexes and uploads {folder}" if settings.database_url else folder
    return {
        f"Answers are written by: {writer or 'nothing, they are quotations (no chat model is set)'}": ("chat model",),
        f"The side that a text supports is judged by: {judge}": ("judge",),
        f"Searched are: your documents, or else the samples; {web}": ("encoder", "indexes", "web search"),
        f"Documents and answers are kept: {place}": ("data", "checkpoints"),
    }
