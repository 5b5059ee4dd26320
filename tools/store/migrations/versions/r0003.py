"""Table of request rates."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    numbers = (sa.Column(column, number, nullable=False) for column in ("window", "requests"))
    op.create_table("api_rates", sa.Column("name", name, primary_key=True), *numbers)
