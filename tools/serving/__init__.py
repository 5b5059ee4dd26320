"""Models on this machine, served by vLLM (`make local-models`): which, how they are fetched, and the server."""

import os

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read once; else the hub is asked who calls, even to look into its cache
