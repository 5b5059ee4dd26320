"""Providers of the agent's stages that need no key, no server and no network."""
