"""What searches of neighbouring questions share: whole searches, bounds of nodes, and incumbents.

A study asks many questions that differ in little. Two of one job on one machine (other prices,
another objective, other limits) have nodes with the same bounds, and often the very same search;
where two have one model, the plans that were best for the first are where those of the second are
looked for first. Nothing of this enters an answer: what is shared is a function of what it is
keyed by, and which nodes are opened first changes neither front nor ties (`planner.search.driver`).

A search under a time limit neither takes over another one nor leaves one behind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass, replace
from math import lcm
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import MESH_AXES
from planner.cost.context import CostModel
from planner.plan import PlanTable
from planner.search.columns import asks_run
from planner.search.sharing.basis import Basis
from planner.search.uniform.nodes import Ground, Nodes
from planner.search.uniform.space import PARTIAL_PLAN

if TYPE_CHECKING:
    from planner.objectives import Objective
    from planner.search.uniform.engine import UniformSpace

_MOST_BYTES = 256 * 2**20
_MOST_VALUES = 64
_MOST_INCUMBENTS = 8
_MOST_BATCHES = 16
_MOST_SEQUENCES = 2**21  # of the common multiple of batches
T = TypeVar("T")


class Session:
    """What questions share that are asked one after the other; give it to `planner.solve`.

    It holds some bytes at most and forgets what was not used for longest. It is not for several
    threads at once.

    Args:
        most_bytes: Of the arrays that it keeps.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self.most_bytes, self.bytes, self.recalled = most_bytes, 0, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bases: OrderedDict[Hashable, tuple[Basis, int]] = OrderedDict()
        self._of_bases = 0
        self._numbers: dict[str, list[tuple[Any, int]]] = {}
        self._batches: list[float] = []
        self._counted = 0

    def recall(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made under a key, or is now; it must depend on the key alone."""
        if key in self._kept:
            self.recalled += 1
            self._kept.move_to_end(key)
            found: T = self._kept[key][0]
            return found
        made = make()
        self._keep(key, made)
        return made

    def _keep(self, key: Hashable, value: object) -> None:
        self.bytes -= self._kept.pop(key, (None, 0))[1]
        size = _bytes_of(value, set())
        self._kept[key] = value, size
        self.bytes += size
        self._forget()

    def _keep_basis(self, key: Hashable, basis: Basis) -> None:
        """Keeps it apart: what serves a hundred questions is not forgotten for what serves few."""
        known, size = self._bases.pop(key, (None, 0))
        self._of_bases, self.bytes = self._of_bases - size, self.bytes - size
        if known is not basis:
            size = _bytes_of(basis, set())
        self._bases[key] = basis, size
        self._of_bases, self.bytes = self._of_bases + size, self.bytes + size
        self._forget()

    def _forget(self) -> None:
        """Forgets what was not used for longest; of bases where they take most."""
        while self.bytes > self.most_bytes:
            if self._bases and (not self._kept or 4 * self._of_bases > 3 * self.most_bytes):
                _, (_, size) = self._bases.popitem(last=False)
                self._of_bases -= size
            else:
                _, (_, size) = self._kept.popitem(last=False)
            self.bytes -= size

    def _number(self, kind: str, value: object) -> int:
        """One number for equal values; what was not asked for in long gets another one."""
        known = self._numbers.setdefault(kind, [])
        for at, (other, number) in enumerate(known):
            if other is value or other == value:
                known.insert(0, known.pop(at))
                return number
        self._counted += 1
        known.insert(0, (value, self._counted))
        del known[_MOST_VALUES:]
        return self._counted

    def key(self, space: UniformSpace, *beside: Objective) -> tuple[Hashable, ...]:
        """What a search through a space depends on, for objectives beside those of its columns."""
        runs = asks_run((*space.columns, *beside), space.limits)
        return (
            self._number("model", space.model if runs else _apart_from_run(space.model)),
            space.chips,
            self._number("options", space.options),
            self._number("limits", space.limits),
            (*space.columns, *beside),  # with their prices
            space.bounded,
        )

    def ground(self, space: UniformSpace) -> Ground | None:
        """What the nodes of a search of the same plans of the job stand on; None: not known."""
        found = self._kept.get(self._ground_key(space))
        return self._ground_of_basis(space) if found is None else found[0]

    def _ground_of_basis(self, space: UniformSpace) -> Ground | None:
        """The same, of partial plans of all batches; None where there was one alone so far."""
        model, sequences = space.model, space.model.job.global_batch
        if not shares_batches(space):
            return None
        batches = self._batches_of(model)
        if len(batches) == 1:
            return None
        job = replace(model.job, global_batch=1)
        numbers = (
            self._number("model", replace(_apart_from_run(model), job=job)),
            self._number("options", space.options),
            self._number("limits", space.limits),
        )
        key = (*numbers, space.chips, space.clocks.tobytes())
        basis = self._bases.get(key, (None, 0))[0]
        if basis is None or sequences not in basis.batches:
            basis = Basis.build(
                model, batches, space.chips, space.options, space.limits, space.clocks
            )
            if basis is None:
                return None
        self._keep_basis(key, basis)
        return basis.ground(model, space.limits)

    def _batches_of(self, model: CostModel) -> list[int]:
        """Sequences of the batch of a question, and of those of tokens as many as were asked for.

        Those with a multiple that is large are left out.
        """
        tokens = model.job.batch_tokens
        if tokens in self._batches:
            self._batches.remove(tokens)
        self._batches.insert(0, tokens)
        del self._batches[_MOST_BATCHES:]
        found = [model.job.global_batch]
        for one in self._batches[1:]:
            if one % model.job.seq_len == 0:
                batch = int(one // model.job.seq_len)
                if batch not in found and lcm(batch, *found) <= _MOST_SEQUENCES:
                    found.append(batch)
        return found

    def _ground_key(self, space: UniformSpace) -> Hashable:
        model = self._number("model", _apart_from_run(space.model))
        options = self._number("options", space.options)
        return "ground", model, space.chips, options, space.clocks.tobytes()

    def keep_ground(self, space: UniformSpace, nodes: Nodes) -> None:
        """Keeps what nodes stand on for the questions to come."""
        if nodes.ground is not None:
            self._keep(self._ground_key(space), nodes.ground)

    def keep_incumbents(self, space: UniformSpace, plans: PlanTable) -> None:
        """Keeps the plans of a front as those that the next question begins with."""
        if len(plans):
            few = plans.take(np.arange(min(len(plans), _MOST_INCUMBENTS)))
            self._keep(("incumbents", space.model.job.model.name, space.chips), few)

    def promising(self, space: UniformSpace, nodes: Nodes) -> IntArray | None:
        """Nodes that hold the best plans of the last question about the model on as many chips."""
        found = self._kept.get(("incumbents", space.model.job.model.name, space.chips))
        return None if found is None else _rows_of(nodes, found[0])


def shares_batches(space: UniformSpace) -> bool:
    """Whether the nodes of a space are those of other batches too, cut to what divides."""
    of_memory = any(column.of_memory for column in space.columns)
    return not (of_memory or space.model.assumptions.token_granularity or len(space.chips) > 1)


def _rows_of(nodes: Nodes, plans: PlanTable) -> IntArray:
    """(r,) the nodes that some plans are on."""
    partial_plans, rows = nodes.partial_plans, []
    meshes = partial_plans.meshes.columns
    for at in range(len(plans)):
        same = np.all([meshes[name] == getattr(plans, name)[at] for name in MESH_AXES], axis=0)
        for mesh in np.flatnonzero(same).tolist():
            first, end = np.searchsorted(partial_plans.mesh_id, [mesh, mesh + 1])
            columns = {name: partial_plans.columns[name][first:end] for name in PARTIAL_PLAN}
            own = [column == getattr(plans, name)[at] for name, column in columns.items()]
            rows.append(first + np.flatnonzero(np.all(own, axis=0)))
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *rows]))


def _apart_from_run(model: CostModel) -> CostModel:
    """The same without the whole run, on which no step depends."""
    return model if model.run is None else replace(model, run=None)


def _bytes_of(value: Any, seen: set[int]) -> int:
    """Bytes of the arrays in a value; those of cost models are of no account."""
    if id(value) in seen or isinstance(value, CostModel):
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        array: FloatArray = value
        return array.nbytes
    if isinstance(value, dict):
        return sum(_bytes_of(one, seen) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(_bytes_of(one, seen) for one in value)
    if is_dataclass(value):
        return sum(_bytes_of(getattr(value, one.name), seen) for one in fields(value))
    return 0
