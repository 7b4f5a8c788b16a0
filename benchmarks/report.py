"""Keeps docs/performance.md: each benchmark of speed replaces its region by what it prints.

    python benchmarks/report.py --write docs/performance.md
    python benchmarks/report.py --write docs/performance.md --only growth

All take about ten minutes on an otherwise idle machine. Pictures go to the folder `pictures` beside
the page. Nothing is written unless every benchmark succeeds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import measuring  # noqa: F401  (before numpy)
import pages

HERE = Path(__file__).parent
_PICTURES = "docs/pictures"
REGIONS = {
    "throughput": ("throughput.py",),
    "space": ("gpt3_space.py", "--exhaustive"),
    "startup": ("startup.py",),
    "growth": ("growth.py", "--plots", _PICTURES),
    "scaling": ("scaling.py", "--plots", _PICTURES),
}
"""Region of the page to script and arguments, as the page shows them."""


def printed(command: tuple[str, ...], pictures: Path, *, quick: bool) -> str:
    """The Markdown that a command prints; writes its pictures to a folder.

    Raises:
        SystemExit: The command failed.
    """
    script, *arguments = (str(pictures) if word == _PICTURES else word for word in command)
    told = [*arguments, "--markdown", *(["--quick"] if quick else [])]
    print(f"{script} ...", file=sys.stderr)
    ran = subprocess.run(
        [sys.executable, str(HERE / script), *told], check=False, stdout=subprocess.PIPE, text=True
    )
    if ran.returncode != 0:
        raise SystemExit(f"error: {script} failed with exit status {ran.returncode}")
    return ran.stdout.strip()


def main() -> int:
    """Runs the benchmarks, writes their regions and pictures, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", metavar="PAGE", type=Path, required=True, help="the page")
    parser.add_argument("--only", choices=tuple(REGIONS), help="one region")
    parser.add_argument("--quick", action="store_true", help="smallest sizes, only to see it run")
    options = parser.parse_args()
    names = list(REGIONS) if options.only is None else [options.only]
    for name in names:
        pages.parted(options.write, name)
    with tempfile.TemporaryDirectory() as folder:
        texts = {}
        for name in names:
            where = pages.measured_on()
            shown = printed(REGIONS[name], Path(folder), quick=options.quick)
            texts[name] = f"{where}\n\n{shown}"
        target = options.write.parent / "pictures"
        target.mkdir(parents=True, exist_ok=True)
        for picture in Path(folder).iterdir():
            (target / picture.name).write_bytes(picture.read_bytes())
    for name, text in texts.items():
        pages.put(options.write, name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
