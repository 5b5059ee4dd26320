"""The first revision: files of schema 4 get the table of corrections. New databases get all tables at once."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "corrections",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("claim", "target", "person", "at")),
        if_not_exists=True,
    )
    op.execute("PRAGMA user_version = 5")
