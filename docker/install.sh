#!/bin/sh
# Installs Steelman into a folder, as the Dockerfile does: docker/install.sh [FOLDER, default /opt/steelman]
# A lock file has the SHA-256 of everything that the script fetches.
set -eu
to=$(realpath -m "${1:-/opt/steelman}")
python=${PYTHON:-python3}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m venv "$work/build"
"$work/build/bin/python" -m pip install --quiet --require-hashes --no-deps -r requirements-supply.lock
"$work/build/bin/python" -m hatchling build --target wheel --directory "$work"

"$python" -m venv "$to"
"$to/bin/python" -m pip install --quiet --require-hashes --no-deps -r requirements.lock -r requirements-server.lock
"$to/bin/python" -m pip install --quiet --no-deps --no-index "$work"/steelman-*.whl
"$to/bin/steelman" --help >/dev/null
echo "Installed: $to/bin/steelman"
