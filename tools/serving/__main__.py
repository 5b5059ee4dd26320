"""`python -m tools.serving` (`make local-models`): vLLM's server on this machine, for the chat stages and the judge."""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from tools.errors import InputError, ModelError, SettingsError, SteelmanError
from tools.serving.models import (
    CHAT_TOKENS,
    CPU_MODEL,
    GPU_MODEL,
    LocalModel,
    cached_folder,
    describe,
    env_lines,
    fetch,
    is_folder,
    read_model,
)
from tools.serving.vllm import (
    build_command,
    build_environment,
    check_port,
    find_python,
    has_gpu,
    last_error,
    running_server,
)

DEFAULT_PORT = 8001
OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_EPILOG = f"""\
examples:
  make local-models DOWNLOAD=1
  make local-models MODEL=models/my-cross-encoder PORT=8002
  python -m tools.serving --model {CPU_MODEL} -- --max-num-seqs 8

exit status: 0 ended as asked, 2 bad input, 1 anything else, 130 interrupted before it answered
"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.serving",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
        description="Serve a model with vLLM on this machine: an instruct model for the chat stages and the judge, or\n"
        "a judge alone (a cross-encoder with one label). Prints the lines for .env.\n"
        "Without a GPU the embedded providers are faster; this is then for trying a model.",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help=f"a folder or a hub's name (default: {GPU_MODEL}; without a GPU {CPU_MODEL})"
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, metavar="PORT", help="default: %(default)s")
    parser.add_argument("--download", action="store_true", help="fetch the model if it is not on this machine")
    parser.add_argument("--prepare", action="store_true", help="find or fetch the model, and serve nothing")
    parser.add_argument("--wait", type=float, default=600.0, metavar="SECONDS", help="for it to answer (600)")
    parser.add_argument("options", nargs="*", metavar="-- OPTIONS", help="of vLLM itself, after --")
    return parser


def prepare(args: argparse.Namespace, *, gpu: bool) -> LocalModel:
    """The model that was asked for, downloaded if that was asked for too. Raises SettingsError, ModelError."""
    source = args.model or (GPU_MODEL if gpu else CPU_MODEL)
    if is_folder(source):
        return read_model(Path(source).expanduser())
    folder = cached_folder(source)
    if folder is None:
        print(describe(source), file=sys.stderr, flush=True)
    if args.download:
        folder = fetch(source)
    if folder is None:
        line = f"make local-models {f'MODEL={args.model} ' if args.model else ''}DOWNLOAD=1"
        raise SettingsError(f"nothing was downloaded. To download it: {line}; or name another with MODEL=.")
    return read_model(folder, source)


def serve(args: argparse.Namespace) -> int:
    """Serves until it is interrupted. Raises SettingsError, ModelError."""
    check_port(args.port)
    gpu = has_gpu()
    model = prepare(args, gpu=gpu)
    if args.prepare:
        return OK
    python = find_python()
    command = build_command(model, args.port, python=python, gpu=gpu, options=args.options)
    handle, name = tempfile.mkstemp(prefix="steelman-vllm-", suffix=".log")
    os.close(handle)
    log = Path(name)
    print(f"Starting vLLM with {model.name} on the {'GPU' if gpu else 'CPU'} … (log: {log})", file=sys.stderr)
    if model.kind == "chat" and model.length < CHAT_TOKENS:
        print(f"It reads {model.length:,} tokens; longer prompts are left to the embedded providers.", file=sys.stderr)
    environment = build_environment(os.environ, python)
    with running_server(command, args.port, environment=environment, log=log, seconds=args.wait) as server:
        print("It answers. For .env, while it runs (Ctrl-C ends it):", file=sys.stderr, flush=True)
        print(env_lines(model, args.port), flush=True)
        try:
            server.wait()
        except KeyboardInterrupt:
            print("\nEnding it …", file=sys.stderr)
        else:
            raise ModelError(f"vLLM ended: {last_error(log)} Its log: {log}")
    log.unlink()
    return OK


def main(arguments: list[str] | None = None) -> int:
    args = build_parser().parse_args(arguments)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        return serve(args)
    except SteelmanError as exc:
        print(f"local-models: {exc}", file=sys.stderr)
        return BAD_INPUT if isinstance(exc, InputError) else FAILED
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
