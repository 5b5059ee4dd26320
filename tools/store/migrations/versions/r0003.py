"""What was read of web documents, and where studies appeared."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    for name in ("venue", "extent"):
        op.add_column("web_documents", sa.Column(name, text, nullable=False, server_default=""))
