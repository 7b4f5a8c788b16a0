"""The published figures that travel with the planner, as rows of text."""

from __future__ import annotations

import csv
import gzip
import io
from functools import cache
from importlib.resources import files

TABLES = ("runs", "sets", "failed", "collectives", "microbench", "energy")


@cache
def published(name: str) -> tuple[dict[str, str], ...]:
    """The rows of one of `TABLES`, each by its headings."""
    packed = files("planner.validation").joinpath(f"data/{name}.csv.gz").read_bytes()
    text = gzip.decompress(packed).decode("utf-8")
    return tuple(csv.DictReader(io.StringIO(text)))
