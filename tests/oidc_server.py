"""An OpenID Connect provider on loopback: discovery, who one is, a code, an ID token signed by RS256, its keys.

It refuses what a provider has to: another client, another place to come back to, a code used twice.
"""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from loopback import Served, Silent

CLIENT, SECRET = "steelman", "a secret of a test"


class Provider:
    """people: by subject, the claims about each. `came_back`: where codes may be sent."""

    def __init__(self, people: dict[str, dict[str, str]]) -> None:
        self.people = people
        self.url = self.came_back = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def discovery(self) -> str:
        return f"{self.url}/.well-known/openid-configuration"

    def secrets(self, redirect_uri: str) -> str:
        """secrets.toml for a page that people come back to at this address."""
        self.came_back = redirect_uri
        return f"""
            [auth]
            redirect_uri = "{redirect_uri}"
            cookie_secret = "{secrets.token_hex(16)}"
            client_id = "{CLIENT}"
            client_secret = "{SECRET}"
            server_metadata_url = "{self.discovery}"
        """

    def metadata(self) -> dict[str, Any]:
        ends = ("authorization_endpoint", "authorize"), ("token_endpoint", "token"), ("jwks_uri", "keys")
        return {name: f"{self.url}/{path}" for name, path in ends} | {
            "issuer": self.url,
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def keys(self) -> dict[str, Any]:
        public = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [public | {"kid": "1", "use": "sig", "alg": "RS256"}]}

    def code(self, asked: dict[str, str]) -> str:
        self.codes[code := secrets.token_urlsafe()] = asked
        return code

    def token(self, login: str, sent: dict[str, str]) -> dict[str, Any] | None:
        """What a code is worth; None where the request is not as it should be."""
        asked = self.codes.pop(sent.get("code", ""), None)
        right = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if not asked or asked["redirect_uri"] != sent.get("redirect_uri") or login != f"Basic {right}":
            return None
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": asked["nonce"]}
        claims |= {"sub": asked["sub"], **self.people[asked["sub"]]}
        signed = jwt.encode(claims, self.key, "RS256", {"kid": "1"})
        return {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "id_token": signed}


@contextmanager
def serving(provider: Provider) -> Iterator[Provider]:
    class Handler(Silent):
        def do_GET(self) -> None:  # noqa: N802
            path, query = urlsplit(self.path).path, urlsplit(self.path).query
            asked = {name: values[0] for name, values in parse_qs(query).items()}
            if path == "/.well-known/openid-configuration":
                self.say(json.dumps(provider.metadata()))
            elif path == "/keys":
                self.say(json.dumps(provider.keys()))
            elif (asked.get("client_id"), asked.get("redirect_uri")) != (CLIENT, provider.came_back):
                self.say("no such client, or another place to come back to", 400)
            elif path == "/authorize":
                who = [f'<p><a href="/as?{query}&sub={quote(sub)}">{sub}</a></p>' for sub in provider.people]
                self.say("<!doctype html><title>Who are you?</title>" + "".join(who), kind="text/html")
            else:
                back = urlencode({"code": provider.code(asked), "state": asked["state"]})
                self.say("", 302, Location=f"{provider.came_back}?{back}")

        def do_POST(self) -> None:  # noqa: N802
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent = {name: values[0] for name, values in parse_qs(body).items()}
            token = provider.token(self.headers.get("Authorization", ""), sent)
            self.say(json.dumps(token or {"error": "invalid_grant"}), 200 if token else 400)

        def say(self, body: str, status: int = 200, kind: str = "application/json", **headers: str) -> None:
            self.send_response(status)
            for name, value in ({"Content-Type": kind, "Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

    handler: type[BaseHTTPRequestHandler] = Handler
    with Served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        provider.url = f"http://127.0.0.1:{server.port}"
        yield provider
