"""A virtual environment with our packages, and one from outside that adds to them."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "tests" / "outside"


def environment_with(sources: Path, folder: Path) -> Path:
    """The Python of a new environment into which a package was installed, without a network.

    What this Python has, the new one has too, by a path file; so it builds the package by itself.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = _output(python, "-c", "import site; print(site.getsitepackages()[0])").strip()
    paths = [str(ROOT), *site.getsitepackages()]
    (Path(packages) / "of_the_tests.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, *offline, str(sources)], check=True, env=_clean(), cwd=folder)
    return python


def _clean() -> dict[str, str]:
    """The environment without what would make our sources or settings of pip come first."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))}


def _output(python: Path, *arguments: str) -> str:
    command = [str(python), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=_clean()).stdout


def planner_in(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `planner` with a Python in a folder."""
    command = [str(python), "-m", "planner", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=_clean(), cwd=folder, check=False
    )
