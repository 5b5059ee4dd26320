"""Rows of the contract table: the machine, the folder and the environment that a command meets."""

from contract_table import Row

ROWS: tuple[Row, ...] = ()
