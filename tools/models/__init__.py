"""Chat models, encoders and judges, in this process or on servers."""
