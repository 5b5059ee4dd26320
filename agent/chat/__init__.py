"""The stages that a chat model can do, one file each; `agent/embedded/` does them without one."""
