"""LangChain's client for OpenAI-compatible servers, with what these add."""

from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import httpx

MARK = "x-stainless-raw-response"
"""The header of OpenAI's client that is not for the server."""


@cache
def compatible_class() -> Any:
    """LangChain's client of OpenAI, which leaves out of a stream the reasoning and the refusal that stand beside the
    text, and errors in the middle of it."""
    import openai
    from langchain_openai import ChatOpenAI

    class Compatible(ChatOpenAI):
        def _convert_chunk_to_generation_chunk(self, chunk: dict[str, Any], *args: Any) -> Any:
            if chunk.get("object") == "error":
                raise openai.APIError(str(chunk.get("message")), cast("Any", None), body=chunk)
            made = super()._convert_chunk_to_generation_chunk(chunk, *args)
            choices = chunk.get("choices") or [{}]
            return _with_more(made, choices[0].get("delta"))

        def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> Any:
            made = super()._create_chat_result(response, generation_info)
            body = response if isinstance(response, dict) else response.model_dump()
            _with_more(made.generations[0], body["choices"][0].get("message"))
            return made

    return Compatible


def _with_more(made: Any, said: Any) -> Any:
    """The part of a reply with the reasoning and the refusal that its message holds."""
    for name, kept in (
        ("reasoning_content", "reasoning_content"),
        ("reasoning", "reasoning_content"),
        ("refusal", "refusal"),
    ):
        if made is not None and said and isinstance(said.get(name), str) and said[name]:
            made.message.additional_kwargs[kept] = said[name]
    return made


async def as_marked(response: "httpx.Response") -> None:
    """Gives OpenAI's client back the header by which it knows how it wanted the reply."""
    if response.request.extensions.get(MARK):
        response.request.headers[MARK] = "true"
