"""Who calls: the key that a request came with, or anybody on this machine where no key was ever made."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request


@dataclass(frozen=True, slots=True)
class Caller:
    """`key_id` is empty where no key is needed."""

    key_id: str = ""
    name: str = "anybody"


def caller_of(request: Request) -> Caller:
    """As the guard found out before the request came here."""
    caller: Caller = request.scope["state"]["caller"]
    return caller


TheCaller = Annotated[Caller, Depends(caller_of)]
