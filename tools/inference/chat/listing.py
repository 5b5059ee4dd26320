"""Which models a server offers."""

import asyncio

from tools.errors import ProviderDownError, ProviderReplyError
from tools.inference.chat.vendors import COMPATIBLE, Vendor
from tools.net.http import fetch_json, open_client, without_login


async def models_at(url: str, key: str = "", vendor: Vendor = COMPATIBLE) -> list[str]:
    """The names of the models that a server offers. Raises ProviderDownError, ProviderReplyError."""
    asked, here = vendor.listing, without_login(url)
    address, headers = f"{url.rstrip('/')}{asked.path}", asked.headers(key.strip())
    async with open_client(seconds=10.0) as client:
        try:
            async with asyncio.timeout(15.0):
                listed = await fetch_json(client, "GET", address, name=here, headers=headers, key=vendor.key)
        except TimeoutError as exc:
            raise ProviderDownError(f"{here} did not answer in time.") from exc
    rows = listed.get(asked.rows) if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        kind = f"{vendor.prefix} does" if vendor.prefix else "an OpenAI-compatible server does"
        raise ProviderReplyError(f"{here} does not list its models as {kind}.")
    names = [str(row[asked.name]) for row in rows if isinstance(row, dict) and row.get(asked.name)]
    return [name.removeprefix("models/") if vendor.prefix == "google_genai" else name for name in names]
