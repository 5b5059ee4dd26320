"""Models of BERT's kind as int8 ONNX graphs, built from safetensors without torch."""
