"""Programs that run another engine's own code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def answered(
    engine: str,
    driver: str,
    arguments: Sequence[str],
    asked: Mapping[str, Any],
    python: str = sys.executable,
) -> dict[str, Any]:
    """The last line, JSON, that a program in Python prints.

    Args:
        engine: The engine, as messages name it.
        driver: The text of the program.
        arguments: What the engine's own parser reads.
        asked: JSON behind them.
        python: That runs it.

    Raises:
        RuntimeError: The program failed.
    """
    command = [python, "-c", driver, *arguments, json.dumps(asked)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{engine} failed: {done.stderr.splitlines()[-1]}")
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def compiled(engine: str, flags: Sequence[str], source: Path, program: Path) -> None:
    """Compiles a source file in C++, as fast code and without warnings.

    Raises:
        RuntimeError: It does not compile.
    """
    command = ["g++", "-O3", "-w", *flags, str(source), "-o", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{engine} does not compile: {done.stderr.splitlines()[0]}")
