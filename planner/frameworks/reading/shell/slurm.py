"""What the lines `#SBATCH` of a script say, as options and as the variables that Slurm sets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.base.numerals import is_digits

_SBATCH = re.compile(r"SBATCH\s+(.*)")
_PER_NODE = re.compile(r"(?:gpu:)?(?:[\w-]+:)?([0-9]{1,6})")
_NODES = ("--nodes", "-N")
_TASKS = ("--ntasks", "-n")
_TASKS_PER_NODE = ("--ntasks-per-node", "--tasks-per-node")
_GPUS_PER_NODE = ("--gpus-per-node", "--gres")


def slurm_options(comments: Iterable[str]) -> list[str]:
    """The options of `#SBATCH` lines, from all comments of a script."""
    lines = [match[1] for line in comments if (match := _SBATCH.match(line))]
    return [word for line in lines for word in line.split("#")[0].split()]


def slurm_variables(words: list[str]) -> dict[str, str]:
    """Variables that Slurm sets in the job, as far as its options say them.

    >>> slurm_variables(["--nodes=4", "--gres=gpu:8"])
    {'SLURM_NNODES': '4', 'SLURM_JOB_NUM_NODES': '4', 'SLURM_GPUS_ON_NODE': '8'}
    """
    found: dict[str, str] = {}
    if nodes := value_of(words, _NODES):
        found |= {"SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes}
    if tasks := value_of(words, _TASKS_PER_NODE):
        found["SLURM_NTASKS_PER_NODE"] = tasks
    whole = value_of(words, _TASKS) or (str(int(nodes) * int(tasks)) if nodes and tasks else "")
    if whole:
        found |= {"SLURM_NTASKS": whole, "SLURM_NPROCS": whole}
    if chips := chips_per_node(words):
        found["SLURM_GPUS_ON_NODE"] = str(chips)
        if said := values_of(words, ("--gpus-per-node",)):
            found["SLURM_GPUS_PER_NODE"] = said[0]
    return found


def chips_per_node(words: list[str]) -> int | None:
    """Chips of a node by `--gres=gpu:8` or `--gpus-per-node=h100:8`; None: neither says it."""
    for name in _GPUS_PER_NODE:
        for text in values_of(words, (name,)):
            match = _PER_NODE.fullmatch(text)
            if match and (name != "--gres" or text.startswith("gpu")):
                return int(match[1]) or None
    return None


def value_of(words: list[str], names: tuple[str, ...]) -> str:
    """The first whole number that an option says; empty: none."""
    return next((text for text in values_of(words, names) if is_digits(text) and len(text) < 8), "")


def values_of(words: list[str], names: tuple[str, ...]) -> list[str]:
    """What an option says, in either spelling."""
    found = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            found.append(value if equals else words[at + 1] if at + 1 < len(words) else "")
    return found
