"""Builds the judges that the settings turn on: that of this process, and the one behind an address."""

from agent.inference import RemoteJudge
from agent.providers.chats import chat_model, open_model, server_of, uses_chat
from agent.settings import Settings
from tools.errors import SettingsError
from tools.inference.chat.model import ChatModel
from tools.inference.chat.prices import price_of
from tools.inference.chat.vendors import COMPATIBLE
from tools.inference.judges import embedded
from tools.inference.judges.batch import BatchJudge
from tools.inference.judges.chat import ChatJudge, read_judge_prompt
from tools.inference.judges.judge import Judge
from tools.inference.judges.score import ScoreJudge


def build_own_judge(settings: Settings) -> Judge:
    """The judge of this process. Raises ModelError."""
    return embedded.load_judge()


def build_judge(settings: Settings) -> RemoteJudge | None:
    """The judge behind an address; None where one of this process judges. Raises SettingsError for a prompt file that
    cannot be used, or that no chat model would be asked."""
    judge = _remote_judge(settings)
    if settings.judge_prompt and not isinstance(judge, ChatJudge):
        raise SettingsError(
            "a prompt for the judge is of use to a chat model only. Set STEELMAN_JUDGE_URL and "
            "STEELMAN_JUDGE_MODEL to one, or leave the prompt out."
        )
    return judge


def _remote_judge(settings: Settings) -> RemoteJudge | None:
    if settings.provider == "embedded" or settings.judge == "embedded":
        return None
    if judges_in_batches(settings):
        return BatchJudge(
            _batch_model(settings), threshold=settings.judge_threshold, concurrency=settings.judge_concurrency
        )
    if settings.judge == "auto" and not settings.judge_url:
        return None
    url, model, key = _judge_server(settings)
    threshold, price = settings.judge_threshold, price_of(model, settings.prices)
    if settings.judge == "score" or url.endswith("/score"):
        return ScoreJudge(url=url.removesuffix("/score"), model=model, key=key, threshold=threshold, price=price)
    return ChatJudge(
        url=url,
        model=model,
        key=key,
        prompt=read_judge_prompt(settings.judge_prompt) if settings.judge_prompt else None,
        concurrency=settings.judge_concurrency,
        threshold=threshold,
        price=price,
    )


def judges_in_batches(settings: Settings) -> bool:
    """Whether a chat model judges many passages a call: where that is named, and where a chat model serves the other
    stages and no judge is set."""
    if settings.provider == "embedded":
        return False
    return settings.judge == "batch" or (settings.judge == "auto" and not settings.judge_url and uses_chat(settings))


def _batch_model(settings: Settings) -> ChatModel:
    """The chat model that judges many passages a call: behind the judge's address, else as the stages' are."""
    if settings.judge_url:
        url, model, key = _judge_server(settings)
        return open_model(settings, COMPATIBLE, model, url, key)
    if settings.judge_model or settings.model:
        return chat_model(settings, settings.judge_model, "STEELMAN_JUDGE_MODEL")
    return chat_model(settings, settings.model_write, "STEELMAN_MODEL_WRITE")  # each stage has its own


def _judge_server(settings: Settings) -> tuple[str, str, str]:
    """Address, model and key; without an address of its own the judge is the chat model."""
    if settings.judge_url:
        return settings.judge_url, settings.judge_model, settings.judge_api_key.get_secret_value()
    vendor, model, url, key = server_of(settings, settings.judge_model, "STEELMAN_JUDGE_MODEL")
    if vendor.prefix:
        raise SettingsError(
            f"STEELMAN_JUDGE is 'chat', which needs log-probabilities, and {vendor.named(model)} gives none here: set "
            "STEELMAN_JUDGE=batch, or STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL to an OpenAI-compatible server."
        )
    return url, model, key
