"""Models: chat models, encoders and judges behind one seam each, in this process or behind an address."""
