"""Names the parts in use: by their technical names, and in plain words."""

from agent.answer.wording import provider_name
from agent.providers.from_settings import build_engine, build_judge, sources_on, uses_chat
from agent.settings import DEFAULT_MODEL, Settings
from tools.translation import tr


def serving(settings: Settings, part: str) -> str:
    """Returns the name of a part's model or provider, 'built in', or an empty text. part: a name of `doctor_checks`."""
    judge, engine = build_judge(settings), build_engine(settings)
    names = {
        "chat model": settings.model or DEFAULT_MODEL,
        "judge": judge.name if judge else "",
        "encoder": settings.embeddings_model or settings.encoder,
        "indexes": tr("Chroma server") if settings.chroma_url else "",
        "web search": engine.title if engine else "",
        "language": "",
    }
    return (provider_name(names[part]) or tr("built in")) if part in names else ""


def in_plain_words(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Maps plain sentences about the parts in use to the names of the parts that each sentence describes."""
    writer = serving(settings, "chat model") if uses_chat(settings) else ""
    sources = sources_on(settings)
    engine = ", ".join([*([serving(settings, "web search")] if build_engine(settings) else []), *sources])
    judge = serving(settings, "judge").replace(tr("built in"), tr("Steelman's own model"))
    web = tr("and the web, with {engine}", engine=engine) if engine else tr("not the web (no search engine is set)")
    folder = tr("on the machine that runs this page, in {folder}", folder=settings.data_dir)
    place = tr("in a Postgres database; indexes and uploads {where}", where=folder) if settings.database_url else folder
    writer = writer or tr("no model; they consist of quotations (no chat model is set)")
    return {
        tr("Answers are written by: {model}", model=writer): ("chat model",),
        tr("The side that a text supports is judged by: {judge}", judge=judge): ("judge",),
        tr("What is searched: your documents, or else the sample texts; {web}", web=web): (
            *("encoder", "indexes", "web search"),
            *(tr("source {name}", name=name) for name in sources),
        ),
        tr("Documents and answers are kept: {place}", place=place): ("data", "checkpoints"),
    }
