"""The settings of a launch while they are read: what was taken, what was not, and what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Protocol

from frozen_records import dataclass
from models_db import Model
from planner.base.errors import InputError
from planner.base.messages import did_you_mean, nearest, one_line, shown
from planner.base.numerals import is_digits, number_of
from planner.frameworks.reading.imported import Imported, Noted
from planner.plan import OFFLOADS, Plan
from planner.plan.choices import fixed_values

MESH = ("dp", "fsdp", "tp", "cp", "ep", "etp", "pp", "micro_batch", "interleave")
LARGEST = 2**31
RECOMPUTES_ALLOWED = "recompute=none, selective or full"
"""`examples` of `LaunchSettings.unsupported` for recomputation."""
_LONGEST = 60
_HINTED = 100  # settings that are not known: a name that may be meant takes a while to find


class ModelOf(Protocol):
    """The model with some dimensions; settings name the setting that says each of them."""

    def __call__(
        self,
        dimensions: Mapping[str, Any],
        settings: Mapping[str, str] | None = None,
        called: str = "",
    ) -> Model:
        """The model, or an `InputError` that names each dimension which contradicts it.

        `called` is the name that the launch gives it, if any.
        """


Beside = Callable[[str], str | None]
"""The text of a file beside a script, None where there is none."""
NODE = 8
"""Chips of a node, where a launch does not say how many it has: as of most that are sold."""


def no_file(path: str) -> str | None:
    """Nothing lies beside standard input."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked beside the text of a launch.

    Attributes:
        name: What messages call the text.
        chips: Chips that the launch starts on; None: the text says.
        fix: Fields of the plan that replace what the text says of them.
        model_of: The model with some dimensions, checked against the one that is named.
        seq_len: Tokens per sequence, where the text cannot say.
        beside: The text of a file that a script names, by its path from there; None: it is not
            there, or lies elsewhere.
        function: The recipe of a Python file; empty: the only one.
        arguments: Those of a script.
        remarked: Chips that a remark in the text names, e.g. "for 64 A100 GPUs".
        assumes: Whether what the text leaves open is assumed and noted: the chips, and the
            nearest plan where none says what a setting does. Else it is an error.
    """

    name: str
    chips: int | None = None
    fix: Mapping[str, Any] = field(default_factory=dict)
    model_of: ModelOf
    seq_len: int | None = None
    beside: Beside = no_file
    function: str = ""
    arguments: tuple[str, ...] = ()
    assumes: bool = False
    remarked: int | None = None


def fixed_fields(fixes: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Fields of a plan with the one value that each is given as text.

    Raises:
        InputError: A field is unknown, or a value is none of its; a line each.
    """
    found: dict[str, Any] = {}
    problems = []
    for name, given in fixes.items():
        texts = list(given)
        try:
            found[name] = _offload(texts) if name == "offload" else _fixed(name, texts)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


def _offload(texts: list[str]) -> tuple[str, ...]:
    if texts == ["none"]:
        return ()
    if wrong := [text for text in texts if text not in OFFLOADS]:
        allowed = ", ".join((*OFFLOADS, "none"))
        raise InputError(f"fix: offload: {shown(wrong[0])} is not one of {allowed}")
    return tuple(name for name in OFFLOADS if name in texts)


def _fixed(name: str, texts: list[str]) -> Any:
    codes = fixed_values(name, texts)
    if len(texts) != 1:
        raise InputError(f"fix: {name}: a launch has one value, not {', '.join(texts)}")
    if name == "sequence_parallel":
        return bool(min(codes))
    return min(codes) if name in MESH else texts[0]


@dataclass(slots=True)
class LaunchSettings:
    """Settings by name, and what becomes of them.

    Attributes:
        asked: What is asked beside the text.
        values: Every setting with its values as text, none for a switch.
        taken: Settings that were looked at.
        problems: What no plan says, as (field of the plan, line); "" where no `fix` helps.
        assumed, warnings: See `Imported`.
        changed: See `planner.frameworks.reading.commands.Command`.
    """

    asked: Asked
    values: dict[str, tuple[str, ...]]
    taken: set[str] = field(default_factory=set)
    problems: list[tuple[str, str]] = field(default_factory=list)
    assumed: list[Noted] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changed: Mapping[str, str] = field(default_factory=dict)

    def on(self, name: str) -> bool:
        """Whether a switch is given."""
        self.taken.add(name)
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        """The value of a setting."""
        self.taken.add(name)
        values = self.values.get(name, ())
        return values[-1] if values else default

    def look(self, name: str, default: str = "") -> str:
        """The value of a setting that something else takes or leaves."""
        return (self.values.get(name) or (default,))[-1]

    def whole(self, name: str, default: int = 0, least: int = 1) -> int:
        """The whole number that a setting says; one line where it says something else."""
        if name not in self.values:
            self.taken.add(name)
            return default
        text = self.text(name)
        if is_digits(text) and least <= int(text[:12]) <= LARGEST:
            return int(text[:12])
        allowed = f"is not a whole number from {least} to {LARGEST:,}"
        self.wrong(name, f"{shown(text)} {allowed}{self._unclear(text)}")
        return default

    def _unclear(self, text: str) -> str:
        """Why a text holds a variable still."""
        if "$" not in text:
            return ""
        named = re.findall(r"[A-Za-z_]\w*", text)
        for variable in named:
            if place := self.changed.get(variable, self.changed.get("*", "")):
                what = f": {variable} is not known after {place}, which is not followed"
                return f"{what}; 'FILE::NAME=VALUE' gives what it asks for"
        own = next((one for one in named if one.isupper()), "")
        gives = f"; 'FILE::{own}=VALUE' gives it" if own else ""
        return f", which the text does not define{gives}"

    def share(self, name: str, default: float) -> float:
        """The number that a setting says."""
        text = self.text(name, str(default))
        try:
            value = number_of(text)
        except ValueError:
            value = float("nan")
        if not 0.0 <= value <= 1.0:
            self.wrong(name, f"{shown(text)} is not a number from 0 to 1")
            return default
        return value

    def choice(self, name: str, default: str, allowed: Mapping[str, Any]) -> Any:
        """What a setting's word stands for."""
        text = self.text(name, default)
        if text in allowed:
            return allowed[text]
        self.wrong(name, f"{shown(text)} is not one of {', '.join(allowed)}")
        return allowed[default]

    def fixed(self, name: str, value: Any) -> Any:
        """A field of the plan: what `fix` says of it, else a value."""
        return self.asked.fix.get(name, value)

    def wrong(self, name: str, what: str) -> None:
        """Notes that a setting cannot be read."""
        self.problems.append(("", f"{name}: {what}"))

    def unsupported(self, axis: str, name: str, what: str, examples: str) -> None:
        """Notes that no plan says what a setting does; `fix` of that field takes its place."""
        if self.asked.assumes:
            self.warnings.append(f"{name}: {what}; the nearest plan is taken (--fix {examples})")
            return
        self.problems.append((axis, f"{name}: {what}; --fix {examples} takes its place"))

    def assume(self, name: str, value: object, reason: str) -> None:
        """Notes what the launch leaves open."""
        self.assumed.append(Noted(name=name, value=str(value), reason=reason))

    def finished(self, plan: Plan) -> Plan:
        """The plan with the fields that `fix` gives.

        Raises:
            InputError: What is wrong with the settings, a line each.
        """
        self.check()
        later = {name: value for name, value in self.asked.fix.items() if name not in MESH}
        return replace(plan, **later)

    def check(self) -> None:
        """Raises what is wrong up to here.

        Raises:
            InputError: A line each.
        """
        lines = [line for axis, line in self.problems if not axis or axis not in self.asked.fix]
        if lines:
            raise InputError("\n".join(f"{self.asked.name}: {line}" for line in lines))

    def imported(
        self,
        source: str,
        plan: Plan,
        job: dict[str, Any],
        model: dict[str, Any],
        reasons: Mapping[str, str],
        near: Iterable[str] | None = None,
    ) -> Imported:
        """The launch as it was read.

        Args:
            source, plan, job, model: See `Imported`.
            reasons: Why known settings have no part in a plan.
            near: Names that a misspelt one may mean; None: those with reasons.

        Raises:
            InputError: Something is wrong with the settings, a line each.
        """
        self.check()
        ignored, unknown = self._rest(reasons, near)
        return Imported(
            source=source,
            plan=plan,
            job=job,
            model=model,
            ignored=ignored,
            unknown=unknown,
            assumed=tuple(self.assumed),
            warnings=tuple(self.warnings),
        )

    def _rest(
        self, reasons: Mapping[str, str], near: Iterable[str] | None
    ) -> tuple[tuple[Noted, ...], tuple[Noted, ...]]:
        """Settings that were not taken: those that are known, with a reason, and the others."""
        names = list(reasons if near is None else near)
        ignored, unknown = list[Noted](), list[Noted]()
        for name, values in self.values.items():
            if name in self.taken:
                continue
            words = one_line(" ".join(values))
            value = words if len(words) <= _LONGEST else words[:_LONGEST] + "..."
            if name in reasons:
                ignored.append(Noted(name=name, value=value, reason=reasons[name]))
            else:
                meant = _hint(name, names) if len(unknown) < _HINTED else ""
                reason = f"not known{meant}"
                unknown.append(Noted(name=one_line(name)[:_LONGEST], value=value, reason=reason))
        return tuple(ignored), tuple(unknown)


def _hint(name: str, names: list[str]) -> str:
    """Settings that a name may mean: of a known section only those with a name like its own."""
    section, dot, own = name.rpartition(".")
    within = [one.removeprefix(section + dot) for one in names if one.startswith(section + dot)]
    if not dot or not within:
        return did_you_mean(name, names)
    near = nearest(own, within)
    return did_you_mean(name, [section + dot + one for one in near])


def _assumed_chips(
    launch: LaunchSettings, chips: int | None, product: int, groups: int, words: str
) -> int:
    """Chips where the launcher says none, or fewer than the axes need: as published as examples."""
    need = math.lcm(product, groups)
    if chips is not None and (chips >= need or chips % product == 0 == chips % groups):
        return chips
    remarked = launch.asked.remarked
    if chips is None and remarked and remarked % product == 0:
        launch.assume("chips", remarked, "by a remark in the text")
        return remarked
    found = math.lcm(need, NODE)
    held = f"{words}, and groups of {groups} that share experts" if groups > 1 else words
    if chips is None:
        why = f"not said; the fewest whole nodes of {NODE} that hold {held}"
    else:
        why = f"its launcher starts {chips}, too few for {held}; the fewest that do are taken"
    launch.assume("chips", found, why)
    return found


def data_ranks(
    launch: LaunchSettings, chips: int | None, beside: Mapping[str, int], groups: int | None = None
) -> int:
    """Ranks that see different sequences: chips over the product of the other axes.

    `groups`: chips of which a multiple is needed besides, where experts are shared over some.

    Raises:
        InputError: The chips are not said, or the axes do not divide them.
    """
    product = 1
    for size in beside.values():
        product *= size
    words = " x ".join(f"{axis} {size}" for axis, size in beside.items())
    if launch.asked.assumes and launch.asked.chips is None:
        chips = _assumed_chips(launch, chips, product, groups or 1, words)
    if chips is None:
        raise InputError(
            f"{launch.asked.name}: does not say on how many chips it runs; give --chips, a "
            f"multiple of {words} = {product:,}"
        )
    if chips % product:
        near = max(product, round(chips / product) * product)
        raise InputError(
            f"{launch.asked.name}: {chips:,} chips are not a multiple of {words} = {product:,}; "
            f"nearest: --chips {near}"
        )
    return chips // product


def chips_of(
    launch: LaunchSettings, started: int | None, said: str, nodes: int | None = None
) -> int | None:
    """Chips: those that are asked for, else what the launcher starts; `said`: what says so."""
    chips = launch.asked.chips
    if chips is None and started is None and nodes is not None and launch.asked.assumes:
        launch.assume("chips", nodes * NODE, f"{nodes} nodes, and {NODE} chips in each: not said")
        return nodes * NODE
    if chips is None:
        return started
    if started not in (None, chips):
        launch.warnings.append(f"chips: {started:,} by {said}; --chips {chips} takes their place")
    return chips
