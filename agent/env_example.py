"""The text of `.env.example`, from the settings: `python -m agent.env_example > .env.example`."""

import textwrap

from pydantic import SecretStr

from agent.settings import Settings, variable_of

_HEADINGS = {
    "https_proxy": "The way out of this network",
    "data_dir": "This machine",
    "provider": "Chat models: follow-ups, perspectives, queries, claims",
    "judge": "The judge: does a passage support a statement?",
    "web": "The web",
    "chroma_url": "Stores and encoders",
    "api_host": "The server for programs: `python -m api`",
}
_OPENING = """\
# Copy to .env beside this file or in the data folder, or name a copy in STEELMAN_ENV_FILE, and uncomment what you want
# to change. Nothing here is needed: the defaults use no key, no server and no network. docs/providers.md says what each
# one turns on, what it costs, and what is sent to whom.
# Made by `python -m agent.env_example > .env.example`."""


def env_example() -> str:
    """The text of `.env.example`."""
    lines = [_OPENING]
    for name, field in Settings.model_fields.items():
        if not field.description:  # it was removed, and whoever sets it is told
            continue
        if heading := _HEADINGS.get(name):
            lines += ["", f"# --- {heading}"]
        default = "~/.local/share/steelman" if name == "data_dir" else field.default
        shown = "" if default in (None, "", SecretStr("")) else str(default)
        described = textwrap.wrap(str(field.description), 118, initial_indent="# ", subsequent_indent="# ")
        lines += ["", *described, f"# {variable_of(name)}={shown}"]
    return "\n".join(lines)


if __name__ == "__main__":
    print(env_example())
