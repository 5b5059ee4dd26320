"""Ten questions on the user's own chat model, over the samples: what can be counted of the answers without gold, and
what they cost."""

import sys

from agent.answer.model import Answer
from agent.models.from_settings import build_chat_models, uses_chat
from agent.runs.parts import usual_options
from agent.runs.service import Runs
from agent.settings import Settings
from evals.reports.records import Record
from evals.suite import progress
from tools.errors import InputError
from tools.models.chat.servers import cost_of, price_of

QUESTIONS = (
    "Should voting be compulsory?",
    "Should zoos be closed?",
    "Is nuclear power safe?",
    "Should the state pay everyone a basic income?",
    "Should tipping be abolished?",
    "Should the voting age be lowered to sixteen?",
    "Is remote work better than working in an office?",
    "Should rents be capped by law?",
    "Should primary schools stop setting homework?",
    "Should cash be abolished?",
)
MOST_TOKENS = 25_000, 6_000
"""Tokens given and made of a run: about what `python -m evals model` finds, and more is not spent."""


async def ask_live(settings: Settings, *, yes: bool) -> Record:
    """Tells the price, then asks. Raises InputError without a chat model, or without a word."""
    if not uses_chat(settings):
        raise InputError("no chat model is set. Set OPENAI_API_KEY, or OPENAI_BASE_URL and STEELMAN_MODEL.")
    models = {m.name: m for m in build_chat_models(settings).values()}.values()
    most = [len(QUESTIONS) * tokens for tokens in MOST_TOKENS]
    costs = [0.0 if m.local else cost_of(price_of(m.name, settings.prices), *most) for m in models]
    known = [cost for cost in costs if cost is not None]
    price = f"about ${max(known):.2f} at most" if len(known) == len(costs) else "a price not known (STEELMAN_PRICES)"
    model = ", ".join(m.name for m in models)
    print(f"{len(QUESTIONS)} questions to {model}: up to {sum(most):,} tokens, {price}.", file=sys.stderr)
    if not yes and (not sys.stdin.isatty() or input("Ask them? [y/N] ").strip().lower() not in ("y", "yes")):
        raise InputError("nothing was asked. Add --yes to ask without being asked first.")
    async with Runs(settings) as runs:
        options = usual_options(runs, web=False, max_tokens=sum(MOST_TOKENS))
        answers = [await runs.answer(await runs.start(q, options)) for q in progress(QUESTIONS, unit="question")]
    return {"suite": "model", "model": model, "questions": [row_of(answer) for answer in answers]}


def row_of(answer: Answer) -> Record:
    """What can be counted of an answer."""
    publishers = {c.number: c.publisher or c.document_id for c in answer.citations}
    sides = [s for s in answer.perspectives if s.stance != "other"]
    return {
        "question": answer.question,
        "sentences": [len(s.claims) for s in sides],
        "written": sum(not c.quoted for s in sides for c in s.claims),
        "sources": [len({publishers[n] for c in s.claims for n in c.citations}) for s in sides],
        "crux": answer.crux.text if answer.crux else "",
        "notes": [n.text for n in answer.notes if n.kind in ("failed", "degraded", "dropped")],
        "calls": answer.usage.calls,
        "tokens": answer.usage.input_tokens + answer.usage.output_tokens,
        "cost_usd": answer.usage.cost_usd,
        "seconds": answer.timings["total"],
    }


def row_line(row: Record) -> str:
    """The row for people."""
    sentences, sources = (" and ".join(map(str, row[n])) or "0" for n in ("sentences", "sources"))
    cost = "unpriced" if row["cost_usd"] is None else f"${row['cost_usd']:.3f}"
    summary = f"{sentences} sentences ({row['written']} written) of {sources} sources"
    return (
        f"{row['question']}  {summary}, {row['calls']} calls, {row['tokens']:,} tokens, {cost}, {row['seconds']:.0f} s"
    )
