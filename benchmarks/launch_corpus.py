"""Reads published launches, and prints which are read without a hand-given option.

    python benchmarks/launch_corpus.py --clones FOLDER
    python benchmarks/launch_corpus.py --clone-commands
    python benchmarks/launch_corpus.py --clones FOLDER --write docs/launch-corpus.md

FOLDER holds clones as owner/name (or owner+name); a file is taken at the commit of
benchmarks/launches/corpus.yaml where the clone has it. Nothing of a launch is run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from planner.answers.evaluation import evaluate_plan
from planner.base.errors import InputError
from planner.question.launch import read_launch
from planner.question.resolved import resolve
from strict_yaml.reading import load

MARKS = ("<!-- table -->", "<!-- end of the table -->")
CORPUS = Path(__file__).parent / "launches" / "corpus.yaml"


class Entry(NamedTuple):
    """A published launch: where it is from, and the recipe in it, if there are several."""

    repository: str
    commit: str
    path: str
    recipe: str


class Row(NamedTuple):
    """What became of a launch; `lacks` is empty where it was read."""

    entry: Entry
    framework: str = ""
    model: str = ""
    chips: str = ""
    hardware: str = ""
    assumed: tuple[str, ...] = ()
    lacks: str = ""
    cpu_s: float = 0.0


def entries() -> list[Entry]:
    """The launches of the corpus in their order."""
    found = []
    for one in load(CORPUS.read_text(encoding="utf-8")):
        for path in one["paths"]:
            name, _, recipe = path.partition("::")
            found.append(Entry(one["repository"], one["commit"], name, recipe))
    return found


def content_of(entry: Entry, clones: Path) -> bytes | None:
    """The file of an entry, at its commit where the folder is a clone; None: it is not there."""
    for name in (entry.repository, entry.repository.replace("/", "+")):
        folder = clones / name
        if (folder / ".git").exists():
            command = ["git", "-C", str(folder), "show", f"{entry.commit}:{entry.path}"]
            shown = subprocess.run(command, capture_output=True, check=False)
            if shown.returncode == 0:
                return shown.stdout
        elif (folder / entry.path).is_file():
            return (folder / entry.path).read_bytes()
    return None


def read(entry: Entry, content: bytes, folder: Path) -> Row:
    """A launch read as `planner evaluate --from auto` reads it, and evaluated."""
    path = folder / entry.repository / entry.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    named = Path(f"{path}::{entry.recipe}") if entry.recipe else path
    started = time.process_time()
    try:
        found = read_launch("auto", named)
        evaluate_plan(resolve(found.request, found.origin, found.plan.chips), found.plan, ())
    except InputError as error:
        lacks = str(error).split("\n")[0].replace(f"{path}: ", "")
        return Row(entry, lacks=lacks, cpu_s=time.process_time() - started)
    noted = {one.name: one.value for one in found.imported.assumed}
    changed = "*" if found.request.set else ""
    return Row(
        entry,
        framework=found.imported.source,
        model=f"{found.request.model}{changed}",
        chips=f"{found.plan.chips}",
        hardware=str(found.request.hardware),
        assumed=tuple(noted),
        cpu_s=time.process_time() - started,
    )


def rows(clones: Path) -> Iterator[Row]:
    """Every launch that is present."""
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries():
            content = content_of(entry, clones)
            if content is not None:
                yield read(entry, content, Path(folder))


def _table(found: list[Row]) -> list[str]:
    lines = [
        "| launch | framework | model | chips | machine | read | lacks |",
        "|---|---|---|---|---|---|---|",
    ]
    last = ""
    for row in found:
        if row.entry.repository != last:
            last = row.entry.repository
            lines.append(f"| **{last}** | | | | | | |")
        assumed = " (assumed)" if "chips" in row.assumed else ""
        recipe = f"::{row.entry.recipe}" if row.entry.recipe else ""
        read_it = "no" if row.lacks else "yes"
        cells = (f"{row.entry.path}{recipe}", row.framework, row.model, f"{row.chips}{assumed}",
                 row.hardware, read_it, row.lacks.replace("|", "\\|"))  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _summary(found: list[Row]) -> str:
    good = sum(not row.lacks for row in found)
    times = sorted(row.cpu_s for row in found)
    median = times[len(times) // 2] if times else 0.0
    return (
        f"{good} of {len(found)} launches are read without a hand-given option; "
        f"{median:.2f} CPU s each in the median, {max(times, default=0.0):.2f} at most "
        "(with the evaluation, without starting Python). "
        "*: a model of the database with the launch's own numbers."
    )


def main() -> int:
    """Prints the table; 1 where nothing is present."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clones", type=Path, help="folder with the clones, as owner/name")
    parser.add_argument("--write", type=Path, help="page whose table is written anew")
    parser.add_argument("--clone-commands", action="store_true", help="print how to get them")
    given = parser.parse_args()
    if given.clone_commands:
        for one in load(CORPUS.read_text(encoding="utf-8")):
            name, commit = one["repository"], one["commit"]
            print(f"git clone --filter=blob:none https://github.com/{name} clones/{name}")
            print(f"git -C clones/{name} checkout {commit}")
        return 0
    if given.clones is None:
        parser.error("--clones FOLDER or --clone-commands")
    found = list(rows(given.clones))
    present = {row.entry for row in found}
    text = "\n".join([*_table(found), "", _summary(found)])
    print(text)
    if given.write is not None:
        page = given.write.read_text(encoding="utf-8")
        before, after = page.split(MARKS[0])[0], page.split(MARKS[1])[1]
        given.write.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", "utf-8")
    for entry in entries():
        if entry not in present:
            print(f"absent: {entry.repository} {entry.path}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
