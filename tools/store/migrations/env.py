"""Alembic's environment: runs the revisions on the connection, and in the transaction, of `tools/store/upgrade.py`.

Foreign keys are off meanwhile, because SQLite changes a table by making it again.
"""

from alembic import context

from tools.store.schema import metadata

context.configure(context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
