"""Writes the synthesized fronts that ship with the package (`planner.collectives`).

Pipelines of more than `MOST_STEPS` steps are left out: they follow known trees and are large.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from planner.collectives.files.schedule_file import schedule_json
from planner.collectives.questions.shipped import MACHINES
from planner.collectives.questions.table import collective_table

FOLDER = Path(__file__).parents[1] / "planner" / "collectives" / "tables" / "data" / "fronts"
MOST_STEPS = 8


def main() -> None:
    """Synthesizes every front and writes its files."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for machine in MACHINES:
        folder = FOLDER / machine
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        index = []
        for found in collective_table(machine).fronts:
            for row in found.rows:
                if row.steps > MOST_STEPS:
                    continue
                name = f"{found.question.collective}-{row.chunks}-{row.steps}-{row.rounds}.json"
                text = schedule_json(found.machine, row.schedule, root=found.question.root)
                (folder / name).write_text(text, encoding="utf-8")
                index.append(
                    {
                        "collective": found.question.collective,
                        "file": name,
                        "chunks": row.chunks,
                        "steps": row.steps,
                        "rounds": row.rounds,
                        "rounds_at_least": row.lower_bound,
                        "proof": row.proof,
                    }
                )
        text = json.dumps(index, indent=1) + "\n"
        (folder / "index.json").write_text(text, encoding="utf-8")
        print(f"{machine}: {len(index)} schedules in {folder}")


if __name__ == "__main__":
    main()
