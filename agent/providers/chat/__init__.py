"""The stages that a chat model can do, one file each; `agent/providers/embedded/` does them without one."""
