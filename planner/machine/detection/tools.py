"""Runs the tools of this node that say what it is made of."""

from __future__ import annotations

import shutil
import subprocess

from planner.base.errors import InputError
from planner.base.messages import one_line
from planner.machine.detection.formats import seen_in
from planner.machine.detection.readers import nvidia_query, rocm
from planner.machine.detection.seen import Seen

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi", f"--query-gpu={nvidia_query.QUERY}", "--format=csv"),
    ("nvidia-smi", "topo", "-m"),
    (rocm.TOOL, *rocm.FLAGS),
    ("ibstat",),
    ("scontrol", "show", "nodes"),
)
"""What is run, in this order, where it is installed."""

_LONGEST_S = 30
_LONGEST = 200


def seen_here() -> tuple[list[Seen], tuple[str, ...]]:
    """What the tools of this node say, and a line for each that says nothing.

    Raises:
        InputError: None of them says anything.
    """
    found: list[Seen] = []
    missing: list[str] = []
    for command in COMMANDS:
        try:
            found += seen_in(" ".join(command), _printed(command))
        except InputError as error:
            missing += [str(error)] if str(error) not in missing else []
    if not found:
        raise InputError(
            "\n".join([*missing, "from: nothing was seen on this node; save what these tools print "
                       "on a node of the cluster, and name the files"])
        )  # fmt: skip
    return found, tuple(missing)


def _printed(command: tuple[str, ...]) -> str:
    """What a command prints.

    Raises:
        InputError: It is not there, fails, or takes too long.
    """
    name = " ".join(command[:1] if shutil.which(command[0]) is None else command)
    if shutil.which(command[0]) is None:
        raise InputError(f"{name}: not on this node")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_LONGEST_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{name}: no answer within {_LONGEST_S} s") from error
    except OSError as error:
        raise InputError(f"{name}: cannot be run ({error.strerror})") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[0]
        raise InputError(f"{name}: exit code {done.returncode}: {one_line(said[:_LONGEST])}")
    return done.stdout
