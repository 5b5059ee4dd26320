"""Tables of large uploads."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "jobs",
        sa.Column("id", text, primary_key=True),
        *(sa.Column(name, text, nullable=False) for name in ("key_id", "status", "state", "sent", "created_at")),
        sa.Column("owner", text),
        sa.Column("heartbeat", sa.Double),
        sa.Column("tries", number, nullable=False, server_default="0"),
    )
    op.create_index("jobs_by_status", "jobs", ["status"])
    op.create_table(
        "job_files",
        sa.Column("job_id", text, sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        *(sa.Column(name, number, primary_key=True) for name in ("file", "part")),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
