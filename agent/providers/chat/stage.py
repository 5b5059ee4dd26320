"""What the stages by chat model share: a prompt that is filled in, and a reply that is read into a shape."""

from typing import TypeVar

from pydantic import BaseModel

from prompts import load_prompt
from tools.inference.chat.model import ChatModel

T = TypeVar("T", bound=BaseModel)


class ChatStage:
    """A stage that asks a model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def _ask(self, prompt: str, shape: type[T], **values: str) -> T:
        """The reply to a prompt of `prompts/` with its variables filled in. Raises ProviderError, PromptError."""
        system, user = load_prompt(prompt).render(**values)
        return await self._model.ask(system, user, shape)
