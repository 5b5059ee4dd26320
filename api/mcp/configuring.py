"""How an assistant is told of the command; imports nothing, since the help prints it."""

import sys
from pathlib import Path


def configuration_help() -> str:
    """How an assistant is told of this command, with this machine's own paths."""
    here = Path(__file__).parents[2]
    return f"""\
put this into the assistant's configuration (mcp.json, claude_desktop_config.json, …):

  {{
    "mcpServers": {{
      "steelman": {{
        "command": "{sys.executable}",
        "args": ["-m", "api", "mcp"],
        "env": {{"PYTHONPATH": "{here}"}}
      }}
    }}
  }}

or, where the assistant has a command for it:

  claude mcp add steelman -e PYTHONPATH={here} -- {sys.executable} -m api mcp

Settings (OPENAI_API_KEY, STEELMAN_DATA_DIR, …) go under "env" too: a .env file is read only from the folder that the
assistant starts the command in. Over HTTP instead: `python -m api`, and http://127.0.0.1:8000/mcp as the address.

It offers the tools ask, retrieve and judge, and past answers as resources (steelman://answers/…). Standard output
carries the protocol alone; messages for people go to standard error.
"""
