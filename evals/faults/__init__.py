"""What measures robustness: servers on loopback that fail in stated ways, inputs that nobody would send, processes
that are killed."""
