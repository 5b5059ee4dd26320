"""Serves local models with vLLM (`make local-models`): choice of model, download, server."""

import os

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read once; else the hub is asked who calls, even to look into its cache
