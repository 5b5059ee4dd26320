"""Chat models, encoders and judges, each kind behind one interface, in this process or behind an address."""
