"""The settings of the way out of this network: variables that other programs read too, and that `.env` may hold."""

import os
from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings


def named(name: str, description: str, default: object = "") -> Any:
    """A setting under the name that others gave it."""
    return Field(default=default, validation_alias=name, description=description)


class Network(BaseSettings):
    """Proxies and certificates."""

    https_proxy: str = named("HTTPS_PROXY", "The proxy to addresses of https://, as http://NAME:PASSWORD@HOST:PORT.")
    http_proxy: str = named("HTTP_PROXY", "The proxy to addresses of http:// outside this network.")
    all_proxy: str = named("ALL_PROXY", "The proxy to both, where they have none of their own.")
    no_proxy: str = named("NO_PROXY", "What is asked straight all the same: example.org, 203.0.113.0/24, ... or *.")
    ssl_cert_file: str = named("SSL_CERT_FILE", "Certificates (PEM) of authorities to believe besides the usual ones.")
    ssl_cert_dir: str = named("SSL_CERT_DIR", "The same as a folder, with the names that `openssl rehash` gives.")
    trust_proxy: bool = Field(
        default=False,
        description="Whether pages whose names this machine cannot look up are asked of the proxy, unchecked.",
    )

    def hand_on(self) -> None:
        """Puts what only `.env` says into the environment, where every library looks for it."""
        for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
            if name not in os.environ and (value := getattr(self, name)):
                os.environ.setdefault(name.upper(), value)
