"""Numbers of the databases that were read again at their addresses, and what was found.

`sources_read.csv` has one row per number: a random sample of what is no assumption and not derived.
A number that has changed since is told, so that no verdict outlives what it was of.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from campaigns.inputs import ROOT
from strict_yaml.reading import load

READ = ROOT / "benchmarks" / "sources_read.csv"
DATABASES = ("hardware_db", "models_db")
FOUND = ("as it says", "follows", "mended", "not reached", "left out")
"""Stated there; follows from what is stated there; not stated there, and mended; neither."""


@dataclass(slots=True, kw_only=True)
class Count:
    """How the numbers of one database fared."""

    sampled: int = 0
    read_again: int = 0
    as_it_says: int = 0
    follows: int = 0
    mended: int = 0
    not_reached: int = 0
    left_out: int = 0
    faults: int = 0


def campaign(told: Callable[[str], None]) -> Iterator[tuple[str, Count]]:
    """The counts of each database; a number that is another one now is told."""
    with READ.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    for database in DATABASES:
        mine = [row for row in rows if row["record"].startswith(f"{database}/")]
        found = Counter(row["found"] for row in mine)
        count = Count(
            sampled=len(mine), read_again=sum(found[name] for name in FOUND[:3]),
            as_it_says=found[FOUND[0]], follows=found[FOUND[1]], mended=found[FOUND[2]],
            not_reached=found[FOUND[3]], left_out=found[FOUND[4]],
        )  # fmt: skip
        for row in mine:
            if (now := value(row["record"], row["field"])) != json.loads(row["value"]):
                count.faults += 1
                told(f"{row['record']}: {row['field']}: {row['value']} was read, it is {now} now")
        yield database, count


def value(record: str, field: str) -> Any:
    """What a record says today; None: it has no such field."""
    database, _, name = record.partition("/")
    part: Any = load((ROOT / database / "data" / f"{name}.yaml").read_bytes(), max_depth=30)
    try:
        for step in (*field.split("."), "value"):
            part = part[int(step)] if isinstance(part, list) else part[step]
    except (KeyError, IndexError, TypeError):
        return None
    return part
