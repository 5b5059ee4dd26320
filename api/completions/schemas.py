"""What OpenAI's clients send, as far as it means something here.

A request may hold anything else that OpenAI's own server takes (temperature, max_tokens, seed, stop, user, …) or that a
client adds: it is accepted and has no effect. What is read is checked. Steelman's own options stand in one member,
`steelman`, which OpenAI's client sends along as its `extra_body`: among OpenAI's names, which are many and grow, nobody
could tell one that is misspelt.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from agent.options import Depth
from api.schemas import SearchOptions, WholeNumber

MODELS: dict[str, Depth] = {"steelman": "normal", "steelman-quick": "quick", "steelman-deep": "deep"}
"""The models that a client may name: how much is searched, judged and written."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Part(_Request):
    """A piece of a message. Text is read; a question can hold nothing else."""

    type: str
    text: str | None = None


def _form(content: object) -> str:
    return "parts" if isinstance(content, list) else "text"


Content = Annotated[Annotated[str, Tag("text")] | Annotated[list[Part], Tag("parts")], Discriminator(_form)]


class Message(_Request):
    """A turn of the conversation. The last of the user's is the question; `system` and `developer` change nothing."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return " ".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(_Request):
    include_usage: bool | None = Field(default=None, description="Whether a last chunk tells the tokens.")


class ResponseFormat(_Request):
    type: str = Field(json_schema_extra={"enum": ["text"]})


class CompletionRequest(_Request):
    """A conversation whose last question is to be answered.

    The answer is a document made of verified claims, so nothing that shapes a model's text has an effect; what an
    answer cannot be (several at once, a call of a tool, JSON by a schema, log-probabilities, sound) is refused.
    """

    model_config = ConfigDict(extra="allow")  # to see what stands in the wrong place

    model: str = Field(json_schema_extra={"enum": list(MODELS)})
    messages: list[Message] = Field(
        min_length=1, examples=[[{"role": "user", "content": "Should schools ban smartphones?"}]]
    )
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: WholeNumber | None = Field(default=None, json_schema_extra={"enum": [1, None]})
    tool_choice: str | dict[str, Any] | None = Field(default=None, json_schema_extra={"enum": ["none", "auto", None]})
    function_call: str | dict[str, Any] | None = Field(default=None, json_schema_extra={"enum": ["none", "auto", None]})
    response_format: ResponseFormat | None = None
    logprobs: bool | None = Field(default=None, json_schema_extra={"enum": [False, None]})
    top_logprobs: WholeNumber | None = Field(default=None, json_schema_extra={"enum": [0, None]})
    modalities: list[str] | None = Field(default=None, json_schema_extra={"enum": [["text"], None]})
    audio: dict[str, Any] | None = Field(default=None, json_schema_extra={"enum": [None]})
    steelman: SearchOptions | None = Field(
        default=None,
        description="Where and how to look, as `/v1/ask` takes it. How much is searched is the model's to say.",
    )
