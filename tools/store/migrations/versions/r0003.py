"""What was read of web documents, where studies appeared, and request rates that several servers share."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for name in ("venue", "extent"):
        op.add_column("web_documents", sa.Column(name, text, nullable=False, server_default=""))
    numbers = (sa.Column(column, number, nullable=False) for column in ("window", "requests"))
    op.create_table("api_rates", sa.Column("name", text, primary_key=True), *numbers)
