"""The strategies that are compared: which mesh axes each has, and how it shards the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray, distinct
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cost.context import CostModel, mesh_of, networks
from planner.frameworks.rules import Demand, offloads_allowed
from planner.plan import AXES, OFFLOADS, ORDERS, SHARDINGS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.uniform.meshes import Meshes, enumerate_meshes


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A constraint on plans.

    Attributes:
        name: As typed and in JSON.
        title: As people call it.
        sharding: Of `planner.plan.SHARDINGS`.
        needs: Mesh axes that exceed 1.
        may: Mesh axes that may exceed 1; all others are 1.
        pods: Replicas are whole slices of a torus, or whole scale-up domains.
        offload: State and activations may move to the host.
    """

    name: str
    title: str
    sharding: str
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    pods: bool = False
    offload: bool = False

    @property
    def axes(self) -> tuple[str, ...]:
        """Mesh axes that may exceed 1."""
        return self.needs + self.may

    @property
    def code(self) -> int:
        """Code of the sharding."""
        return SHARDINGS.index(self.sharding)

    @property
    def mixed(self) -> bool:
        """Whether weights and activations both travel: FSDP beside TP."""
        return "tp" in self.axes and "fsdp" in self.axes


STRATEGIES = (
    Strategy(name="dp", title="DP", sharding="ddp", needs=("dp",)),
    Strategy(name="zero1", title="ZeRO-1", sharding="zero1", needs=("dp",)),
    Strategy(name="zero2", title="ZeRO-2", sharding="zero2", needs=("dp",)),
    Strategy(name="zero3", title="ZeRO-3 (FSDP)", sharding="zero3", needs=("fsdp",)),
    Strategy(name="hsdp", title="HSDP", sharding="zero3", needs=("fsdp", "dp")),
    Strategy(name="tp", title="TP", sharding="ddp", needs=("tp",)),
    Strategy(name="fsdp+tp", title="FSDP + TP", sharding="zero3", needs=("fsdp", "tp")),
    Strategy(
        name="fsdp+tp+pp", title="FSDP + TP + PP", sharding="zero3", needs=("fsdp", "tp", "pp")
    ),
    Strategy(
        name="fsdp+tp+cp", title="FSDP + TP + CP", sharding="zero3", needs=("fsdp", "tp", "cp")
    ),
    Strategy(
        name="across-pods",
        title="DP across pods",
        sharding="zero3",
        needs=("dp", "fsdp"),
        may=("tp",),
        pods=True,
    ),
)
NAMES = tuple(strategy.name for strategy in STRATEGIES)
_CALLED = {"ddp": "dp", "fsdp": "zero3", "pods": "across-pods", "tp+fsdp": "fsdp+tp"}


def strategies_named(names: Sequence[str]) -> tuple[Strategy, ...]:
    """The strategies of those names, each once, in the order of `STRATEGIES`.

    Raises:
        InputError: A name is unknown, or there is none; one line per mistake.
    """
    meant = [_CALLED.get(name.strip().lower(), name.strip().lower()) for name in names]
    wrong = [name for name in dict.fromkeys(meant) if name not in NAMES]
    if wrong or not meant:
        lines = [f"strategies: {not_one_of(name, NAMES)}" for name in wrong[:4]]
        raise InputError("\n".join(lines) or f"strategies: is empty; allowed: {', '.join(NAMES)}")
    return tuple(strategy for strategy in STRATEGIES if strategy.name in meant)


def offloading(model: CostModel, strategy: Strategy, plans: PlanTable) -> PlanTable:
    """Plans with every set of parts on the host that the rules allow; as they are without."""
    if not strategy.offload:
        return plans
    masks = np.arange(1 << len(OFFLOADS))
    many = plans.take(np.repeat(np.arange(len(plans)), len(masks)))
    many = replace(many, offload=np.tile(masks, len(plans)))
    return many.take(np.flatnonzero(offloads_allowed(model, many)))


def pod_chips(model: CostModel, chips: int) -> int:
    """Chips of one slice of a torus, or of one scale-up domain, of a job of `chips` chips."""
    inner = [
        level.domain_chips or chips
        for level in model.allocation(chips).levels
        if level.kind == "scale-up"
    ]
    return max(inner, default=1)


def with_batch(model: CostModel, sequences: int, seq_len: float | None = None) -> CostModel:
    """The same model at another batch: sequences per step, and tokens of each."""
    length = model.job.seq_len if seq_len is None else seq_len
    return replace(model, job=replace(model.job, global_batch=sequences, seq_len=length))


def meshes_of(model: CostModel, strategy: Strategy, chips: int) -> Meshes:
    """All meshes of a strategy on `chips` chips that the rules on axes allow, at any batch."""
    options = SpaceOptions(axes=frozenset(strategy.axes))
    return meshes_in(with_batch(model, chips), strategy, (chips,), options)


def meshes_in(
    model: CostModel, strategy: Strategy, counts: tuple[int, ...], options: SpaceOptions
) -> Meshes:
    """All meshes of a strategy on some chip counts that the model's batch divides over."""
    every = enumerate_meshes(model, counts, options)
    columns = every.columns
    keep = np.ones(len(every), dtype=np.bool_)
    for axis in strategy.needs:
        keep &= columns[axis] > 1
    if strategy.pods:
        inside = {count: pod_chips(model, count) for count in counts}
        pods = [chips // inside[chips] for chips in columns["chips"].tolist()]
        keep &= columns["dp"] == np.array(pods, dtype=np.int64)
    return every.take(np.flatnonzero(keep))


@lru_cache(maxsize=256)
def _orders_of(active: tuple[str, ...], offered: tuple[tuple[str, ...], ...]) -> tuple[int, ...]:
    """Codes of the orders that differ for the axes above 1, among those offered (empty: any)."""
    rest = tuple(axis for axis in AXES if axis not in active)
    if not offered:
        return tuple(ORDERS.index((*some, *rest)) for some in permutations(active))
    kept = dict.fromkeys(tuple(a for a in order if a in active) for order in offered)
    return tuple(ORDERS.index((*some, *rest)) for some in kept)


def with_orders(
    model: CostModel,
    strategy: Strategy,
    plans: PlanTable,
    demands: Sequence[Demand] = (),
    *,
    every: bool = False,
) -> PlanTable:
    """Every plan in those of the framework's orders of its axes that may be the fastest.

    Across pods the replicas are outermost. An order is left out where another gives every group
    costs that are as low, since no plan gets faster when a message gets slower; `every` keeps it.
    Plans and orders that break a demand are left out first.
    """
    sizes = np.stack([getattr(plans, axis) for axis in AXES], axis=1) > 1
    patterns = sizes @ (1 << np.arange(len(AXES)))
    parts: list[tuple[IntArray, IntArray]] = []
    for pattern in np.unique(patterns):
        at = np.flatnonzero(patterns == pattern)
        active = tuple(axis for bit, axis in enumerate(AXES) if pattern >> bit & 1)
        orders = _orders_of(active, model.framework.orders)
        if strategy.pods:
            orders = tuple(order for order in orders if _outermost(order, active) == "dp")
        codes = np.array(orders, dtype=np.int64)
        keep = _runnable(plans.take(at), codes, demands)
        if not every:
            keep = _worth_trying(model, plans.take(at), codes, keep)
        row, order = np.nonzero(keep)
        parts.append((at[row], codes[order]))
    if not parts:
        return plans
    rows, chosen = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return replace(plans.take(rows), order=chosen)


def _runnable(plans: PlanTable, orders: IntArray, demands: Sequence[Demand]) -> BoolArray:
    """(n, k) orders of each plan that obey all demands."""
    n, k = len(plans), len(orders)
    if not demands:
        return np.ones((n, k), dtype=np.bool_)
    ordered = replace(plans.take(np.repeat(np.arange(n), k)), order=np.tile(orders, n))
    keep = np.all([demand.holds(ordered) for demand in demands], axis=0)
    return np.asarray(keep.reshape(n, k))


def _worth_trying(
    model: CostModel, plans: PlanTable, orders: IntArray, keep: BoolArray
) -> BoolArray:
    """(n, k) orders of those kept that no other is as good as in the costs of every group.

    Of orders with equal costs the first stays.
    """
    kept = np.unique(keep, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    first, which = distinct([*(getattr(plans, axis) for axis in (*AXES, "ep", "etp")), kept])
    meshes, k = plans.take(np.repeat(first, len(orders))), len(orders)
    mesh = mesh_of(replace(meshes, order=np.tile(orders, len(first))))
    nets = networks(model, mesh)
    costs = np.concatenate([net.features[1:, net.columns] for net in nets.values()])
    table = costs.reshape(len(costs), len(first), k).transpose(1, 2, 0)
    better = np.zeros((len(first), k), dtype=np.bool_)
    for other in range(k):
        rival = table[:, other : other + 1]
        as_good = (rival <= table).all(axis=2) & keep[first, other : other + 1]
        equal = as_good & (rival == table).all(axis=2)
        better |= as_good & ~(equal & (other >= np.arange(k)))
    return np.asarray(keep & ~better[which])


def _outermost(order: int, active: tuple[str, ...]) -> str:
    return [axis for axis in ORDERS[order] if axis in active][-1]
