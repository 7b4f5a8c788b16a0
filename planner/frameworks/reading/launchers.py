"""On how many chips the launchers of a script start a program: torchrun, srun, mpirun, ..."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.framework import Starter
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.shell.slurm import chips_per_node, slurm_options, value_of
from planner.frameworks.registry import every

_PER_NODE = ("--nproc-per-node", "--ntasks-per-node", "--gpus-per-node", "--num-gpus")
_NODES = ("--nnodes", "--nodes", "-N", "--num-nodes")
_TASKS = ("--ntasks", "-n", "-np", "--num-processes")
_GPUS = ("--gpus", "-G")
_ALL = (*_PER_NODE, *_NODES, *_TASKS)
_SLURM = "srun"
MODULES = ("torch.distributed.run", "torch.distributed.launch")
_COMMON = (
    *(Starter(name=name) for name in ("torchrun", *MODULES)),
    *(Starter(name=name, one_node=False) for name in (_SLURM, "mpirun", "mpiexec")),
)
"""Those of no framework: PyTorch's, Slurm's and MPI's."""
_HOSTS = ("--hostfile", "-H")
_SLOTS = re.compile(r"(?m)^[ \t]*[^#\s]\S*[ \t]+slots=([0-9]{1,6})")
_IDS = re.compile(r"[^:@]+:((?:[0-9]+,)*[0-9]+)")
_LARGEST = 1 << 20


@cache
def _starters() -> Mapping[str, Starter]:
    """The launchers that there are, by name."""
    own = (starter for framework in every() for starter in framework.starters)
    return {starter.name: starter for starter in (*_COMMON, *own)}


def started(text: str) -> int | None:
    """Chips that a launcher in a script says, whatever the program; None: it says none."""
    try:
        shell = Shell("").read(text)
    except InputError:
        return None
    launchers = (words for words in shell.commands if any(_named(word) in _ALL for word in words))
    return chips_started(next(launchers, []), shell)[0]


def chips_started(launcher: list[str], shell: Shell) -> tuple[int | None, str]:
    """Processes that launchers start, and what says so; None: nothing does.

    Args:
        launcher: The words before the program.
        shell: Of the script, with its Slurm options.
    """
    inner, outer = _parted(launcher)
    slurm = [*outer, *shell.options, *slurm_options(shell.comments)]
    if hosts := _hosts(inner, shell):
        return hosts, "its file of hosts"
    if chosen := _included(inner):
        return chosen, "its --include"
    program = _starters().get(_program(inner))
    alone = program is not None and program.one_node
    if alone or program is None:
        nodes = _option(inner, _NODES)
        if not any(_named(word) in (*_NODES, *_HOSTS) for word in inner):
            nodes = 1
        if (per_node := _option(inner, _PER_NODE)) and nodes:
            return per_node * nodes, f"its launcher: {nodes} x {per_node}"
    elif (program.name != _SLURM or _option(inner, _TASKS)) and (found := _by_options(inner)):
        return found[0], f"its launcher: {found[1]}"
    if alone:
        per_node = _option(inner, _PER_NODE) or chips_per_node(slurm)
        nodes = _option(inner, _NODES) or _option(slurm, _NODES)
        found = (per_node * nodes, f"{nodes} x {per_node}") if per_node and nodes else None
    else:
        found = _by_options([*inner, *slurm])
    return (found[0], f"its Slurm options: {found[1]}") if found else (None, "")


def nodes_started(launcher: list[str], shell: Shell) -> int | None:
    """Nodes that launchers say, where they do not say the chips; None: they do not."""
    return _option([*launcher, *shell.options, *slurm_options(shell.comments)], _NODES)


def _by_options(words: list[str]) -> tuple[int, str] | None:
    """Chips by nodes and what is on each, or by tasks, and the words for it."""
    nodes = _option(words, _NODES)
    each = int(value_of(words, ("--gpus-per-task",)) or 1)
    per_node = chips_per_node(words) or (_option(words, _PER_NODE) or 0) * each
    if per_node and nodes:
        return per_node * nodes, f"{nodes} x {per_node}"
    if tasks := _option(words, _TASKS):
        return tasks * each, f"{tasks * each} tasks"
    gpus = _option(words, _GPUS)
    return (gpus, f"{gpus} GPUs") if gpus else None


def _hosts(inner: list[str], shell: Shell) -> int | None:
    """Chips by a file of hosts, where it is known and no option says fewer."""
    program = _starters().get(_program(inner))
    if program is None or not program.hosts or _option(inner, (*_NODES, *_PER_NODE)):
        return None
    for at, word in enumerate(inner):
        name, equals, value = word.partition("=")
        if name in _HOSTS:
            path = value if equals else inner[at + 1] if at + 1 < len(inner) else ""
            return sum(map(int, _SLOTS.findall(shell.file(path) or ""))) or None
    return None


def _included(inner: list[str]) -> int | None:
    """Chips that DeepSpeed's `--include host:0,1@other:0,1` names; None: it names hosts alone."""
    text = next(
        (
            word.partition("=")[2] or following
            for word, following in zip(inner, [*inner[1:], ""], strict=False)
            if word.partition("=")[0] in ("--include", "-i")
        ),
        "",
    )
    places = [_IDS.fullmatch(one) for one in text.split("@")] if text else []
    found = [len(one[1].split(",")) for one in places if one]
    return sum(found) if found and len(found) == len(places) else None


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _parted(launcher: list[str]) -> tuple[list[str], list[str]]:
    """The launcher that starts the program, with its options, and those before it."""
    at = max(
        (place for place, word in enumerate(launcher) if word.rpartition("/")[2] in _starters()),
        default=0,
    )
    return launcher[at:], launcher[:at]


def _option(words: list[str], names: tuple[str, ...]) -> int | None:
    """The number that an option says, in either spelling; None: none."""
    for at, word in enumerate(words):
        _, equals, value = word.partition("=")
        if _named(word) in names:
            value = value if equals else words[at + 1] if at + 1 < len(words) else ""
            if is_digits(value) and 0 < int(value[:9]) <= _LARGEST:
                return int(value[:9])
    return None


def _named(word: str) -> str:
    """The name of an option, in one spelling."""
    return word.partition("=")[0].replace("_", "-")
