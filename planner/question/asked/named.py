"""Names that only registries know, in the `--help` of commands.

A text of help has a key in braces in their place; it is filled where help is shown, since listing
what installed packages add takes a noticeable time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.frameworks.registry import FRAMEWORKS, TARGETS, every
from planner.objectives import OBJECTIVES, fronts
from planner.question.asked.words import words_of


def filled(text: str, command: str = "") -> str:
    """A text with names in place of its keys.

    Args:
        text: Help of a command or of an option.
        command: The command, e.g. `export`, for the key of its examples.
    """
    text = text.replace("{examples}", _examples(command)) if "{examples}" in text else text
    for key, words in _WORDS.items():
        text = text.replace(key, words()) if key in text else text
    return text


def _listed(names: Sequence[str], last: str) -> str:
    """`a, b or c`."""
    return f"{last} ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _frameworks() -> str:
    """`megatron, torchtitan-2024 (a remark) or jax`."""
    profiles = FRAMEWORKS.values()
    return _listed([f"{p.name} ({p.remark})" if p.remark else p.name for p in profiles], " or")


def _some_frameworks() -> str:
    """`megatron, torchtitan, deepspeed`."""
    return ", ".join([one.profiles[0].name for one in every()][:3])


def _objectives() -> str:
    """`time, energy or edp`."""
    return _listed([*OBJECTIVES], " or")


def _fronts() -> str:
    """`time,energy or time,energy,memory`."""
    return " or ".join(",".join(names) for names in fronts())


def _launches() -> str:
    """`a script of megatron or a JSON file of deepspeed`."""
    read = [target for target in TARGETS.values() if target.launches]
    return _listed([f"{target.launches} of {target.name}" for target in read], ", or")


def _sources() -> str:
    """`megatron, torchtitan or deepspeed`."""
    return _listed([target.name for target in TARGETS.values() if target.launches], " or")


def _checkpoints() -> str:
    """`torch_dist, torch or universal`."""
    return _listed([*words_of("checkpoint")], " or")


def _examples(command: str) -> str:
    """Lines of a command that frameworks give, a paragraph each."""
    lines = [line for one in every() for whose, line in one.examples if whose == command]
    return "\n\n  ".join(lines)


_WORDS: dict[str, Callable[[], str]] = {
    "{frameworks}": _frameworks,
    "{some-frameworks}": _some_frameworks,
    "{objectives}": _objectives,
    "{fronts}": _fronts,
    "{launches}": _launches,
    "{sources}": _sources,
    "{target}": lambda: next(iter(TARGETS)),
    "{two-targets}": lambda: ",".join([one.targets[0].name for one in every() if one.targets][:2]),
    "{checkpoints}": _checkpoints,
    "{targets}": lambda: ", ".join(TARGETS),
    "{all-targets}": lambda: _listed([*TARGETS], " and"),
}
