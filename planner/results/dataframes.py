"""Rows of an answer as tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.base.errors import InputError
from planner.base.libraries import library
from planner.base.messages import not_one_of


def dataframe(tables: Mapping[str, Sequence[Mapping[str, Any]]], name: str) -> Any:
    """One of some tables; nested fields have dotted names.

    Args:
        tables: Rows by the name of their table.
        name: Of the table that is wanted.

    Raises:
        InputError: There is no such table, or no pandas.
    """
    if name not in tables:
        raise InputError(f"of: {not_one_of(name, tables)}")
    lacking = "pandas is not installed: pip install 'parallelism-planner[dataframe]'"
    pandas = library("pandas", lacking)
    return pandas.json_normalize([dict(row) for row in tables[name]])
