"""The changes of a question: what differs from its records, and the assumptions that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from frozen_records import dataclass
from hardware_db import Calibration, Cluster, FrozenMap
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.overrides import overridden
from planner.base.errors import InputError
from planner.question.changes.leaves import ASSUMPTIONS, CALIBRATION, CHIP, CLUSTER, MODEL, Leaf
from planner.question.changes.texts import Change
from planner.question.changes.values import value_of, words_of
from strict_yaml.merging import nested


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One field that is changed.

    Attributes:
        leaf: The field.
        change: As it was written.
        value: Its new value; None where it follows from the rest of the question first.
    """

    leaf: Leaf
    change: Change
    value: Any = None

    @property
    def stays(self) -> bool:
        """Whether the value is that of the record, which other changes would else move."""
        return self.leaf.record != ASSUMPTIONS and self.value == self.leaf.value

    @property
    def node(self) -> Any:
        """The value as a file of the record has it."""
        if self.stays:
            return self.leaf.node
        if self.leaf.form not in ("number", "numbers"):
            return self.value
        old = self.leaf.node if isinstance(self.leaf.node, Mapping) else {}
        source = {"source": old["source"]} if "source" in old else {}
        kept = {"unit": old.get("unit", self.leaf.unit or "1"), **source}
        note = f"not measured: {self.reason}"
        return {"value": self.value, **kept, "kind": "assumed", "note": note}

    @property
    def reason(self) -> str:
        """What the value is, and what it was."""
        if self.value is None:
            return "a value of yours"
        now, was = (words_of(value, self.leaf.unit) for value in (self.value, self.leaf.value))
        if self.stays:
            return f"{now}, as recorded, whatever else is changed"
        return now if self.leaf.value is None else f"{now} in place of {was}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All fields that a question changes; `changes_of` reads them.

    Attributes:
        fields: In their order.
        names: Of the records, by what holds fields.
    """

    fields: tuple[Changed, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def of(self, record: str) -> tuple[Changed, ...]:
        """Those of one record."""
        return tuple(one for one in self.fields if one.leaf.record == record)

    def name_of(self, record: str) -> str:
        """`h100-sxm5-80 with memory.bandwidth=2x`; without changes the name alone."""
        changes = ", ".join(str(one.change) for one in self.of(record))
        return f"{self.names[record]} with {changes}" if changes else self.names[record]

    def named(self, cluster: Cluster) -> Cluster:
        """The cluster with a name that says what differs of its chip too."""
        changes = ", ".join(str(one.change) for one in self.of(CHIP))
        if not changes or cluster.name == cluster.chip.name:
            return cluster
        joint = ", " if self.of(CLUSTER) else " with "
        return replace(cluster, name=f"{cluster.name}{joint}{changes}")

    @property
    def hardware(self) -> dict[str, Any]:
        """What differs of a cluster, as `hardware_db.load_cluster` takes it."""
        inside, outside = self._data(CHIP), self._data(CLUSTER)
        return {**outside, **({CHIP: inside} if inside else {})}

    @property
    def model(self) -> dict[str, Any]:
        """What differs of a model, as `models_db.load_model` takes it, but its name."""
        return nested({one.leaf.path: one.node for one in self.of(MODEL)})

    def as_typed(self, message: str) -> str:
        """What is wrong with a changed record, with each change as it was typed."""
        typed = {f"set: {one.leaf.path}: ": str(one.change) for one in self.fields}
        lines = message.split("\n")
        ends = [next((text for start, text in typed.items() if line.startswith(start)), "")
                for line in lines]  # fmt: skip
        return "\n".join(
            f"{line} ({end})" if end else line for line, end in zip(lines, ends, strict=True)
        )

    @property
    def given(self) -> tuple[str, ...]:
        """Full paths of fields of the machine that get a value, in place of a factor."""
        return tuple(one.leaf.full_path for one in self.fields if one.change.factor in (None, 1))

    def _data(self, record: str) -> dict[str, Any]:
        """The fields of a chip or a cluster, with a name that says so."""
        nodes = {one.leaf.path: one.node for one in self.of(record)}
        return {"name": self.name_of(record), **nested(nodes, ("levels",))} if nodes else {}

    def assumptions(self, base: Assumptions) -> Assumptions:
        """The assumptions with the changes.

        Raises:
            InputError: A value is impossible.
        """
        try:
            found = {
                one.leaf.path: value_of(one.leaf, one.change, getattr(base, one.leaf.path))
                for one in self.of(ASSUMPTIONS)
            }
            changed = overridden(base, found) if found else base
        except InputError as error:
            raise InputError(
                "\n".join(f"set: {line}" for line in str(error).split("\n"))
            ) from error
        by_hand = ", ".join(
            str(one.change) for one in (*self.of(ASSUMPTIONS), *self.of(CALIBRATION))
        )
        if not by_hand:
            return changed
        return replace(changed, name=f"{by_hand} over {base.name}", are_fitted=False)

    def calibration(self, base: Calibration) -> Calibration:
        """Fitted constants with the changes."""
        found = {one.leaf.path: one.value for one in self.of(CALIBRATION)}
        if not found:
            return base
        return replace(base, values=FrozenMap({**base.values, **found}))

    @property
    def defaults(self) -> list[tuple[str, str, str]]:
        """What is assumed: name, value, reason."""
        return [("set", str(one.change), one.reason) for one in self.fields]


NONE = Changes()
"""No field is changed."""
