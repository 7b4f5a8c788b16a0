"""Writes the tables of synthesized collectives that the cost model reads.

    python benchmarks/collective_tables.py --write planner/collectives/data/tables.json

Makes the schedules of every domain of `DOMAINS` (some minutes on one core), the same on every
machine: searches end after an amount of work, not of time. Without --write the points are
printed. The tables of other domains, of users' clusters or with degraded links, are made when they
are asked for.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from hardware_db import Level, load_cluster
from planner.collectives.tables.making import WORK, make
from planner.collectives.tables.tables import as_data
from planner.machine.degraded import with_degraded
from planner.machine.wiring import rewired
from planner.network.synthesized.tables import DomainTable, wiring_of

WORK_OF_HEALTHY = 3.0
"""Of each search for domains without slow links; others have what tables made on demand have."""
DOMAINS = (
    ("dgx1-v100", "", "", (2, 4, 8)),
    ("gaudi2", "", "", (2, 3, 4, 5, 6, 7, 8)),
    ("trn2", "", "", (16,)),
    ("dgx-h100-ndr", "ring", "", (4, 8)),
    ("dgx2-v100", "ring", "", (16,)),
    ("dgx-h100-ndr", "hypercube", "", (4, 8)),
    ("dgx2-v100", "hypercube", "", (16,)),
    ("dgx-h100-ndr", "torus:2x4", "", (8,)),
    ("dgx1-v100", "", "nvlink:0-2=0.25", (4, 8)),
    ("dgx1-v100", "", "nvlink:0-2=0", (4, 8)),
)
"""Cluster, wiring of its innermost level (empty: its own), a degraded link, chips of a domain.

The slow and the failed link are the examples of the docs."""


def levels() -> list[tuple[Level, int]]:
    """The levels of `DOMAINS`, cut to their chips."""
    found: list[tuple[Level, int]] = []
    for name, wiring, slow, counts in DOMAINS:
        cluster = rewired(load_cluster(name), (wiring,) if wiring else ())
        cluster = with_degraded(cluster, (slow,) if slow else ())
        for chips in counts:
            level = cluster.scale(chips).levels[0]
            if not any(wiring_of(level, chips) == wiring_of(*other) for other in found):
                found.append((level, chips))
    return found


def text_of(tables: list[DomainTable]) -> str:
    """The file: one line for each form of group."""
    lines = []
    for table in tables:
        data = as_data(table)
        groups = data.pop("groups")
        head = json.dumps(data)[:-1]
        rows = ",\n".join(f"  {json.dumps(group)}" for group in groups)
        lines.append(f'{head}, "groups": [\n{rows}\n]}}')
    return '{"tables": [\n' + ",\n".join(lines) + "\n]}\n"


def main() -> None:
    """Makes all tables and writes or prints them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path)
    path = parser.parse_args().write
    tables = []
    for level, chips in levels():
        started = time.perf_counter()
        table = make(level, chips, work=WORK if level.degraded else WORK_OF_HEALTHY)
        if table is None:
            raise SystemExit(f"no table of {wiring_of(level, chips)}")
        tables.append(table)
        print(
            f"{table.wiring}: {len(table.groups)} forms, {time.perf_counter() - started:.1f} s",
            flush=True,
        )
    if path is None:
        print(text_of(tables), end="")
    else:
        path.write_text(text_of(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
