"""Writes docs/performance.md: runs every benchmark of speed and pastes what each prints.

    python benchmarks/report.py --write docs/performance.md

Takes about ten minutes on an otherwise idle machine. Pictures go to the folder `pictures` beside
the page. Nothing is written unless every benchmark succeeds. Without --write the page is printed.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import measuring

HERE = Path(__file__).parent
_PICTURES = "docs/pictures"
_IDLE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page.

    Attributes:
        title: Heading.
        text: What the figures are; no figure itself.
        command: Script and arguments as the page shows them.
        pictures: File name and description of the pictures that the command writes.
    """

    title: str
    text: str
    command: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...] = ()


SECTIONS = (
    Section(
        title="Plans per CPU-second",
        text=(
            "The whole spaces of three jobs, every candidate with time, energy and memory: "
            "evaluated directly in the order of the search (without and with their parts) or in "
            "random order; and through the tables that the search uses: assembling time and energy "
            "alone, with the memory of every plan counted in, and with building the tables too."
        ),
        command=("throughput.py",),
    ),
    Section(
        title="GPT-3 175B on 4,096 A100s",
        text=(
            "The proved optimum and the exact front of time and energy with offloading, all "
            "placements and clock levels; then the same front by costing everything that fits, "
            "which shows that the bounds of the search lose nothing."
        ),
        command=("gpt3_space.py", "--exhaustive"),
    ),
    Section(
        title="From the command line",
        text="Fresh processes, start-up included.",
        command=("startup.py",),
    ),
    Section(
        title="Growth with chips and axes",
        text=(
            "The default command on exactly N chips, then its parts: the optimum and the front on "
            "exactly N chips, and the front over every count up to N, which has to be asked for; "
            "then one axis or choice after the other, each row with all above it. Infeasible: "
            "proved that no plan fits. Partial plans are meshes with micro-batch and pipeline; "
            "costed are the candidates that no bound excluded."
        ),
        command=("scaling.py", "--plots", _PICTURES),
        pictures=(
            (
                "performance-commands.svg",
                "CPU seconds and peak memory of the default command by number of chips",
            ),
            (
                "performance-chips.svg",
                "CPU seconds by number of chips, on exactly N chips and over every count up to N",
            ),
            ("performance-axes.svg", "CPU seconds as axes and choices are added one by one"),
        ),
    ),
)


def printed(section: Section, places: dict[str, str], *, quick: bool) -> str:
    """The Markdown that a section's command prints.

    Raises:
        SystemExit: The command failed.
    """
    script, *arguments = (places.get(word, word) for word in section.command)
    command = [sys.executable, str(HERE / script), *arguments, "--markdown"]
    command += ["--quick"] if quick else []
    print(f"{script} ...", file=sys.stderr)
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"error: {script} failed with exit status {ran.returncode}")
    return ran.stdout.strip()


def head() -> list[str]:
    """Title, machine, date, and how the page is made."""
    here = measuring.machine()
    processor = f"{here['processor']}, {here['cores']} cores, {here['system']}"
    versions = ", ".join(f"{name} {here[name]}" for name in ("planner", "python", "numpy"))
    return [
        "# Performance",
        f"Measured on {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}: {processor}; {versions}. "
        "One thread. CPU seconds of the process, the best of several repetitions, unless a table "
        "says otherwise. Every benchmark first checks that its ways of computing agree bit for "
        "bit, and times nothing if they do not." + _other_work(),
        "This page is what the commands printed, written by "
        "`python benchmarks/report.py --write docs/performance.md`. Other tools on the same jobs: "
        "[peers](peers.md).",
    ]


def _other_work() -> str:
    """A warning when the machine is not idle as the benchmarks start."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load < _IDLE:
        return ""
    return (
        f" Other work was running (load average {load:.1f} at the start): wall times are too long, "
        "and rates too low."
    )


def page(pictures: Path, *, quick: bool) -> str:
    """The whole page; writes its pictures to a folder."""
    places = {_PICTURES: str(pictures)}
    parts = head()
    for section in SECTIONS:
        parts += [f"## {section.title}", section.text]
        parts.append(f"```sh\npython benchmarks/{' '.join(section.command)}\n```")
        shown = printed(section, places, quick=quick)
        parts += [f"![{text}](pictures/{name})" for name, text in section.pictures]
        parts.append(shown)
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Runs everything, writes or prints the page, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", metavar="PAGE", type=Path, help="e.g. docs/performance.md")
    parser.add_argument("--quick", action="store_true", help="smallest sizes, only to see it run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(Path(folder), quick=options.quick)
        if options.write is None:
            print(text)
            return 0
        target = options.write.parent / "pictures"
        target.mkdir(parents=True, exist_ok=True)
        for picture in Path(folder).iterdir():
            (target / picture.name).write_bytes(picture.read_bytes())
    options.write.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
