"""Completion of values in shells: names of models, machines, frameworks and other known words.

Typer writes the scripts of the shells (`planner --install-completion`) and asks here for values.
Nothing of this loads numpy.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

from planner.base.vocabulary import (
    ANY,
    CHOICES,
    CP_MODES,
    MESH_AXES,
    MODULES,
    RECOMPUTES,
    SHARDINGS,
    SPLITS,
)
from planner.question.asked import BY_NAME
from planner.question.asked.words import FIELDS_WITH_WORDS, words_of

INSTRUCTION = "_PLANNER_COMPLETE"
"""The variable in which the script of a shell says what it wants."""
Completer = Callable[[str], list[str]]
_WIDE = 4000
_SIZES = ("1", "2", "4", "8", "16", "32", "64")
"""What is offered where any whole number will do."""
_FACTORS = ("0.5x", "2x", "4x")
"""What is offered where a field may get any value."""


def completer_of(name: str) -> Completer | None:
    """What completes the flag of a field; None: nothing is known about its values."""
    if name == "fix":
        return fixes
    if name == "set":
        return changed_paths
    if name in ("pools", "torus_axes"):
        return _keys_of("hardware") if name == "pools" else _keys_of("axes")
    if name not in FIELDS_WITH_WORDS:
        return None
    return several_of(name) if BY_NAME[name].kind in ("words", "names") else one_of(name)


def only_in_shells(complete: Completer | None) -> Completer | None:
    """What completes a value, where a shell asks: else Typer need not look at it."""
    return complete if INSTRUCTION in os.environ else None


def one_of(name: str) -> Completer:
    """Completes a word that a field takes."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words_of(name) if word.startswith(incomplete)]

    return complete


def several_of(name: str) -> Completer:
    """Completes the last of several words with commas between them."""

    def complete(incomplete: str) -> list[str]:
        return _last_word(incomplete, words_of(name))

    return complete


def among(names: Collection[str]) -> Completer:
    """Completes the last of several names with commas between them."""

    def complete(incomplete: str) -> list[str]:
        return _last_word(incomplete, names)

    return complete


def fixes(incomplete: str) -> list[str]:
    """Completes `FIELD=VALUE,VALUE` of a plan."""
    field, equals, values = incomplete.partition("=")
    if equals:
        found = _last_word(values, _values_of(field.replace("-", "_")))
        return [f"{field}={text}" for text in found]
    names = [name for name in (*MESH_AXES, *CHOICES) if name.startswith(field)]
    if len(names) == 1:  # a shell would put a space behind the `=`
        return [f"{names[0]}={text}" for text in _values_of(names[0])]
    return [f"{name}=" for name in names]


def changed_paths(incomplete: str) -> list[str]:
    """Completes the path of `PATH=VALUE`, of the machine and the model that the line names.

    Where the value begins, the factors that are asked for most.
    """
    path, equals, value = incomplete.partition("=")
    if equals:
        return [f"{path}={text}" for text in _FACTORS if text.startswith(value)]
    found = [name for name in _paths() if name.startswith(path)]
    if len(found) == 1:  # a shell would put a space behind the `=`
        return [f"{found[0]}={text}" for text in _FACTORS]
    return [f"{name}=" for name in found]


def varied_paths(incomplete: str) -> list[str]:
    """Completes the path of `PATH=VALUE,VALUE`."""
    path, equals, _ = incomplete.partition("=")
    return [] if equals else [f"{name}=" for name in ("pes", *_paths()) if name.startswith(path)]


def _paths() -> list[str]:
    """What may be changed, of the model and the hardware that a command line has so far."""
    from hardware_db import HardwareError  # noqa: PLC0415  (pydantic; not for --help)
    from models_db import ModelError  # noqa: PLC0415
    from planner.question.changes.changes import ALIASES, LABELS, fields_of  # noqa: PLC0415

    words = os.environ.get("COMP_WORDS", "").split()
    named = {flag: words[words.index(flag) + 1] for flag in ("--model", "--hardware")
             if flag in words[:-1]}  # fmt: skip
    hardware = named.get("--hardware", str(BY_NAME["hardware"].default))
    try:
        leaves = fields_of(named.get("--model", ""), hardware)[0]
    except (HardwareError, ModelError):
        leaves = fields_of("", str(BY_NAME["hardware"].default))[0]
    return [*ALIASES, *(leaf.path for leaf in leaves if leaf.path not in LABELS)]


def targets(incomplete: str) -> list[str]:
    """Completes what launches are read of."""
    from planner.frameworks.recognition import AUTO  # noqa: PLC0415  (not for --help)
    from planner.frameworks.registry import TARGETS  # noqa: PLC0415  (not for --help)

    names = (AUTO, *(name for name, target in TARGETS.items() if target.launches))
    return [name for name in names if name.startswith(incomplete)]


def versions(incomplete: str) -> list[str]:
    """Completes the version of the target that the line names, or of any."""
    from planner.frameworks.registry import TARGETS  # noqa: PLC0415  (not for --help)

    words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
    own = [TARGETS[word] for word in words if word in TARGETS] or TARGETS.values()
    found = dict.fromkeys(version for target in own for version in target.versions if version)
    return [version for version in found if version.startswith(incomplete)]


def _keys_of(name: str) -> Completer:
    """Completes the names in `NAME=NUMBER,NAME=NUMBER`."""

    def complete(incomplete: str) -> list[str]:
        texts = _last_word(incomplete, words_of(name))
        if len(texts) == 1:
            return [f"{texts[0]}={size}" for size in _SIZES]
        return [f"{text}=" for text in texts]

    return complete


def _last_word(text: str, words: Iterable[str]) -> list[str]:
    """Words with commas between them, the last one completed to one that is not there yet."""
    before, comma, last = text.rpartition(",")
    there = {word.partition("=")[0] for word in before.split(",")}
    rest = [word for word in words if word.startswith(last) and word not in there]
    return [f"{before}{comma}{word}" for word in rest]


def _values_of(field: str) -> Collection[str]:
    """The words that a field of a plan may be fixed to."""
    if field == "schedule":
        return _schedules()
    return {
        "sharding": SHARDINGS,
        "split": SPLITS,
        "cp_mode": CP_MODES,
        "recompute": (*RECOMPUTES, ANY, *MODULES[1:]),  # the first alone is selective
        "sequence_parallel": ("true", "false"),
    }.get(field, _SIZES)


def _schedules() -> Collection[str]:
    """The schedules that any framework runs: the classes of schedules themselves take numpy."""
    from planner.frameworks.registry import FRAMEWORKS  # noqa: PLC0415  (not for --help)

    return dict.fromkeys(name for one in FRAMEWORKS.values() for name in one.schedules)


def answer_shell(app: Callable[[], Any]) -> None:
    """Prints what the script of a shell asks for, and ends the program.

    Bash takes `FIELD=VALUE` for three words and replaces the last one alone, so they are put
    together for Typer, and what precedes the last one is taken off again.
    """
    os.environ["COLUMNS"] = str(_WIDE)  # Rich would break what is said of an option into lines
    if os.environ[INSTRUCTION] != "complete_bash":
        app()
    words = os.environ.get("COMP_WORDS", "").split("\n")
    place = int(os.environ.get("COMP_CWORD", "0"))
    joined, place = _joined(words, place)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(place)
    current = joined[place] if place < len(joined) else ""
    value = current.partition("=")[2] if current.startswith("--") else current
    before = value[: value.rfind("=") + 1]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            app()
    finally:
        for line in said.getvalue().splitlines():
            print(line.removeprefix(before))


def _joined(words: list[str], place: int) -> tuple[list[str], int]:
    """Words of bash with `=` and what stands around it in one word, and the place of the last."""
    joined: list[str] = []
    at = place
    for index, word in enumerate(words):
        if index > 1 and "=" in (word, words[index - 1]) and joined:
            joined[-1] += word
            at -= index <= place
        else:
            joined.append(word)
    return joined, at
