"""Event-driven simulation of pipeline schedules, written from their published definitions.

It is the reference that closed forms of the step time are tested against, so it imports nothing
of the package and contains no closed form: a schedule is a list of work items per device, and the
simulator only knows which items depend on which.

Glossary:
    p, v, m: devices, chunks (virtual stages) per device, micro-batches.
    Global stage: ``c * p + i`` is chunk ``c`` of device ``i`` (0-based).
    Item: one forward ``F``, one backward ``B`` or, in schedules with split backward, one input
        gradient ``B`` and one weight gradient ``W`` of one micro-batch on one global stage.

A device runs its items strictly in the order of its list, one at a time. An item starts when the
device is free and these have ended: ``F`` of the previous global stage (for ``F``); its own ``F``
and ``B`` of the next global stage (for ``B``); its own ``B`` (for ``W``).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a work item computes; ``B`` is the whole backward unless the schedule splits it."""

    F = "F"
    B = "B"
    W = "W"


class Item(NamedTuple):
    """One unit of work: ``kind`` of micro-batch ``micro_batch`` on global stage ``stage``."""

    kind: Kind
    micro_batch: int
    stage: int

    def __str__(self) -> str:
        return f"{self.kind.value}(micro-batch {self.micro_batch}, stage {self.stage})"


class Execution(NamedTuple):
    """One executed item: where it ran and when, in seconds from the start of the step."""

    device: int
    item: Item
    start_s: float
    end_s: float


class DeadlockError(RuntimeError):
    """The devices wait for each other; ``stuck`` maps each waiting device to its next item."""

    def __init__(self, stuck: dict[int, Item]) -> None:
        self.stuck = stuck
        waiting = "; ".join(f"device {device} at {item}" for device, item in stuck.items())
        super().__init__(f"schedule deadlocks: {waiting}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The order in which every device runs its items.

    Attributes:
        name: Name of the schedule, for messages.
        orders: Items of each device in execution order; length ``p``.
        stages: Number of global stages, ``p * v``.
        micro_batches: ``m``.
        split_backward: Whether backward is split into ``B`` (input gradient) and ``W`` (weight
            gradient).

    Raises:
        ValueError: If the devices do not run every item exactly once, or an item runs on a device
            that does not own its stage (stage ``s`` belongs to device ``s % p``).
    """

    name: str
    orders: tuple[tuple[Item, ...], ...]
    stages: int
    micro_batches: int
    split_backward: bool

    def __post_init__(self) -> None:
        kinds = tuple(Kind) if self.split_backward else (Kind.F, Kind.B)
        for device, order in enumerate(self.orders):
            expected = {
                Item(kind, k, s)
                for kind in kinds
                for k in range(self.micro_batches)
                for s in range(device, self.stages, len(self.orders))
            }
            if len(order) != len(expected) or set(order) != expected:
                raise ValueError(
                    f"{self.name}: device {device} must run each of its {len(expected)} items "
                    f"once, got {len(order)} items, {len(expected - set(order))} of them missing, "
                    f"{len(set(order) - expected)} foreign"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """How long the items take, per global stage.

    Attributes:
        forward_s: Seconds of one ``F``; shape ``(p * v,)``.
        backward_s: Seconds of one ``B`` (the input gradient alone if backward is split); shape
            ``(p * v,)``.
        weight_grad_s: Seconds of one ``W``; shape ``(p * v,)``, empty unless backward is split.
        send_s: Seconds that a device is busy sending the result of one ``F`` or ``B``; the
            receiver may start when the send ends. ``W`` sends nothing.
        charge_end_sends: Whether ``F`` of the last and ``B`` of the first global stage, which
            have no receiver, take ``send_s`` too. True is the convention of models that charge
            every stage alike.
    """

    forward_s: Sequence[float]
    backward_s: Sequence[float]
    weight_grad_s: Sequence[float] = ()
    send_s: float = 0.0
    charge_end_sends: bool = True

    def of(self, item: Item) -> float:
        """Seconds that ``item`` occupies its device, the send included."""
        if item.kind is Kind.W:
            return self.weight_grad_s[item.stage]
        if item.kind is Kind.F:
            compute_s, sends = self.forward_s[item.stage], item.stage < len(self.forward_s) - 1
        else:
            compute_s, sends = self.backward_s[item.stage], item.stage > 0
        return compute_s + self.send_s if sends or self.charge_end_sends else compute_s

    def check(self, schedule: Schedule) -> None:
        """Raise ``ValueError`` unless the values are finite, not negative and fit ``schedule``."""
        weight_stages = schedule.stages if schedule.split_backward else 0
        for name, values, length in (
            ("forward_s", self.forward_s, schedule.stages),
            ("backward_s", self.backward_s, schedule.stages),
            ("weight_grad_s", self.weight_grad_s, weight_stages),
            ("send_s", (self.send_s,), 1),
        ):
            if len(values) != length:
                raise ValueError(f"{name} must have {length} values, got {len(values)}")
            if not all(math.isfinite(value) and value >= 0 for value in values):
                raise ValueError(f"{name} must be finite and >= 0, got {list(values)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimResult:
    """What the simulation of one step gave.

    Attributes:
        makespan_s: Seconds from the first start to the last end.
        busy_s: Seconds each device computes or sends; shape ``(p,)``.
        idle_s: ``makespan_s - busy_s``; shape ``(p,)``.
        peak_in_flight: Largest number of (micro-batch, chunk) pairs that a device holds: ``F`` has
            run and ``B`` (``W`` if backward is split) has not; shape ``(p,)``.
        trace: Every executed item, device by device in execution order.
    """

    makespan_s: float
    busy_s: tuple[float, ...]
    idle_s: tuple[float, ...]
    peak_in_flight: tuple[int, ...]
    trace: tuple[Execution, ...]


def _require_positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")


def _one_forward_one_backward(
    forwards: Sequence[Item], backwards: Sequence[Item], warm_up: int
) -> tuple[Item, ...]:
    """Warm-up forwards, then one forward and one backward in turn, then the other backwards."""
    order = list(forwards[:warm_up])
    for forward, backward in zip(forwards[warm_up:], backwards, strict=False):
        order += (forward, backward)
    return (*order, *backwards[len(forwards) - warm_up :])


def gpipe(p: int, m: int, *, reverse_backward: bool = True) -> Schedule:
    """GPipe: all forwards, then all backwards.

    Huang et al. 2019, "GPipe: Efficient Training of Giant Neural Networks using Pipeline
    Parallelism", arXiv:1811.06965, figure 2c.

    Args:
        p: Devices.
        m: Micro-batches.
        reverse_backward: Backwards run from the last micro-batch to the first, as the figure
            draws them; otherwise in the order of the forwards. The times are the same.
    """
    _require_positive(p=p, m=m)
    backwards = range(m - 1, -1, -1) if reverse_backward else range(m)
    orders = tuple(
        (*(Item(Kind.F, k, i) for k in range(m)), *(Item(Kind.B, k, i) for k in backwards))
        for i in range(p)
    )
    return Schedule(name="gpipe", orders=orders, stages=p, micro_batches=m, split_backward=False)


def one_f_one_b(p: int, m: int) -> Schedule:
    """1F1B with flush (PipeDream-Flush): device ``i`` warms up with ``min(p - 1 - i, m)`` forwards.

    Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using
    Megatron-LM", arXiv:2104.04473, section 2.2.1 and figure 4 (top).
    """
    _require_positive(p=p, m=m)
    orders = tuple(
        _one_forward_one_backward(
            [Item(Kind.F, k, i) for k in range(m)],
            [Item(Kind.B, k, i) for k in range(m)],
            min(p - 1 - i, m),
        )
        for i in range(p)
    )
    return Schedule(name="1f1b", orders=orders, stages=p, micro_batches=m, split_backward=False)


def interleaved(p: int, v: int, m: int, *, single_group_all_forward: bool = True) -> Schedule:
    """Interleaved 1F1B: each device owns ``v`` chunks that micro-batches visit in groups of ``p``.

    Device ``i`` warms up with ``2 (p - i - 1) + (v - 1) p`` chunk forwards. Narayanan et al. 2021,
    arXiv:2104.04473, section 2.2.2 and figure 4 (bottom); order of the chunks as in Megatron-LM,
    ``megatron/core/pipeline_parallel/schedules.py``.

    Args:
        p: Devices.
        v: Chunks per device.
        m: Micro-batches; a multiple of ``p``.
        single_group_all_forward: With ``m == p``, run all forwards before all backwards, as
            Megatron-LM did until it dropped that special case; otherwise warm up as for other
            ``m``.

    Raises:
        ValueError: If ``m`` is not a multiple of ``p``.
    """
    _require_positive(p=p, v=v, m=m)
    if m % p:
        raise ValueError(f"interleaved needs m to be a multiple of p, got m={m}, p={p}")
    visits = [(k, c) for first in range(0, m, p) for c in range(v) for k in range(first, first + p)]
    orders = []
    for i in range(p):
        warm_up = min(2 * (p - i - 1) + (v - 1) * p, m * v)
        if m == p and single_group_all_forward:
            warm_up = m * v
        forwards = [Item(Kind.F, k, c * p + i) for k, c in visits]
        backwards = [Item(Kind.B, k, (v - 1 - c) * p + i) for k, c in visits]
        orders.append(_one_forward_one_backward(forwards, backwards, warm_up))
    return Schedule(
        name="interleaved",
        orders=tuple(orders),
        stages=p * v,
        micro_batches=m,
        split_backward=False,
    )


def _zero_bubble(name: str, m: int, warm_ups: Iterable[int], delays: Iterable[int]) -> Schedule:
    """Per device: warm-up forwards, then ``B``, delayed ``W`` and ``F`` in turn, then all ``W``."""
    orders = []
    for i, (warm_up, delay) in enumerate(zip(warm_ups, delays, strict=True)):
        order = [Item(Kind.F, k, i) for k in range(min(warm_up, m))]
        for k in range(m):
            order.append(Item(Kind.B, k, i))
            if k >= delay:
                order.append(Item(Kind.W, k - delay, i))
            if k + warm_up < m:
                order.append(Item(Kind.F, k + warm_up, i))
        order += (Item(Kind.W, k, i) for k in range(max(m - delay, 0), m))
        orders.append(tuple(order))
    return Schedule(
        name=name, orders=tuple(orders), stages=len(orders), micro_batches=m, split_backward=True
    )


def zero_bubble_h1(p: int, m: int) -> Schedule:
    """ZB-H1: 1F1B with split backward, at most ``p`` micro-batches in flight on every device.

    Device ``i`` runs ``p - i`` forwards before its first ``B`` and ``W`` of micro-batch ``k`` right
    after ``B`` of micro-batch ``k + i``; the last ``i`` weight gradients end its step. Qi et al.
    2023, "Zero Bubble Pipeline Parallelism", arXiv:2401.10241, section 2.1 and figure 3 (top).
    """
    _require_positive(p=p, m=m)
    return _zero_bubble("zb-h1", m, (p - i for i in range(p)), range(p))


def zero_bubble_h2(p: int, m: int) -> Schedule:
    """ZB-H2: as ZB-H1 with at most ``2 p - 1`` micro-batches in flight on every device.

    Device ``i`` runs ``2 (p - i) - 1`` forwards before its first ``B`` and ``W`` of micro-batch
    ``k`` right after ``B`` of micro-batch ``k + 2 i``. Qi et al. 2023, arXiv:2401.10241, section
    2.2 and figure 3 (bottom). The paper lets each device begin its next step when it is done, so
    the time of one step there is the span of one device, not the makespan over all devices.
    """
    _require_positive(p=p, m=m)
    return _zero_bubble("zb-h2", m, (2 * (p - i) - 1 for i in range(p)), range(0, 2 * p, 2))


def _dependencies(item: Item, stages: int) -> tuple[Item, ...]:
    """Items that must end before ``item`` may start, whatever the schedule."""
    kind, k, stage = item
    if kind is Kind.F:
        return (Item(Kind.F, k, stage - 1),) if stage > 0 else ()
    if kind is Kind.W:
        return (Item(Kind.B, k, stage),)
    own = Item(Kind.F, k, stage)
    return (own, Item(Kind.B, k, stage + 1)) if stage < stages - 1 else (own,)


def _peak_in_flight(order: Iterable[Item], releases: Kind) -> int:
    """Largest number of items whose ``F`` has run and whose ``releases`` item has not."""
    held = peak = 0
    for item in order:
        held += (item.kind is Kind.F) - (item.kind is releases)
        peak = max(peak, held)
    return peak


def sequence(schedule: Schedule) -> list[tuple[int, Item, tuple[Item, ...]]]:
    """Device, item and what it needs, each item after those that it needs.

    Every device runs as far as it can go until all are done; who runs first does not change times.

    Raises:
        DeadlockError: If no device can go on.
    """
    found: list[tuple[int, Item, tuple[Item, ...]]] = []
    ended: set[Item] = set()
    done = [0] * len(schedule.orders)
    waiting = set(range(len(schedule.orders)))
    while waiting:
        before = len(found)
        for device in sorted(waiting):
            order = schedule.orders[device]
            for item in order[done[device] :]:
                needed = _dependencies(item, schedule.stages)
                if not ended.issuperset(needed):
                    break
                ended.add(item)
                found.append((device, item, needed))
                done[device] += 1
            else:
                waiting.discard(device)
        if waiting and len(found) == before:
            raise DeadlockError({d: schedule.orders[d][done[d]] for d in sorted(waiting)})
    return found


def _execute(schedule: Schedule, durations: Durations) -> list[list[Execution]]:
    """What every device runs and when."""
    end_s: dict[Item, float] = {}
    free_s = [0.0] * len(schedule.orders)
    done: list[list[Execution]] = [[] for _ in schedule.orders]
    for device, item, needed in sequence(schedule):
        start_s = max([free_s[device], *(end_s[other] for other in needed)])
        free_s[device] = end_s[item] = start_s + durations.of(item)
        done[device].append(Execution(device, item, start_s, end_s[item]))
    return done


def simulate(schedule: Schedule, durations: Durations) -> SimResult:
    """Run one step of ``schedule`` with ``durations``.

    Raises:
        ValueError: If the durations are not finite, negative or of the wrong length.
        DeadlockError: If the devices wait for each other.
    """
    durations.check(schedule)
    done = _execute(schedule, durations)
    makespan_s = max(executed[-1].end_s for executed in done)
    busy_s = tuple(math.fsum(durations.of(run.item) for run in executed) for executed in done)
    releases = Kind.W if schedule.split_backward else Kind.B
    return SimResult(
        makespan_s=makespan_s,
        busy_s=busy_s,
        idle_s=tuple(makespan_s - busy for busy in busy_s),
        peak_in_flight=tuple(_peak_in_flight(order, releases) for order in schedule.orders),
        trace=tuple(run for executed in done for run in executed),
    )
