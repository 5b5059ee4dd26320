"""Models of BERT's kind as int8 ONNX graphs, built from safetensors without torch."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # ONNX Runtime reads it once, when it is loaded; else it reports to its maker
