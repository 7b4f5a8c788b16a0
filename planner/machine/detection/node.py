"""One description of a node and its cluster, made of all outputs; contradictions are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from frozen_records import dataclass
from hardware_db import Chip
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.machine.detection.chips import chip_named, chip_printed, product_in
from planner.machine.detection.seen import Fact, Nic, SchedulerNode, Seen, Wiring

T = TypeVar("T")
_SAME_RATE = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Network devices of a node that its chips use.

    Attributes:
        nics: Their number.
        left_out: Names of others, which no chip is near, or which are not active.
        rate: Bytes per second, one direction, of all of them; the place is that of the first.
        outputs: All that say so.
        ethernet: Whether their links are Ethernet; None: not said.
    """

    nics: int
    left_out: tuple[str, ...]
    rate: Fact[float]
    outputs: tuple[str, ...]
    ethernet: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What was seen of a node and its cluster.

    Attributes:
        chip: Its record.
        printed: Where its name was seen; None: `--chip` gave it alone.
        chips: Of a node, each of one device or several.
        nodes: Of the cluster, as a scheduler has them; None: not seen.
        pcie: Bytes per second of a chip's PCIe link, one direction.
        wiring: Links between devices.
        network: Network devices; None: not seen.
    """

    chip: Chip
    printed: Fact[str] | None
    chips: Fact[int]
    nodes: Fact[int] | None
    pcie: Fact[float] | None
    wiring: Wiring | None
    network: Network | None


def node_of(
    seen: Sequence[Seen],
    *,
    chip: str | None = None,
    partition: str | None = None,
    nodes: int | None = None,
) -> Node:
    """One description of what outputs of one kind of node say.

    Args:
        seen: What they say.
        chip: Key of the chip's record, in place of what is printed.
        partition: Of the scheduler.
        nodes: Of the cluster, where no scheduler says it.

    Raises:
        InputError: They contradict each other, or leave out what is needed.
    """
    listed = _scheduled([node for one in seen for node in one.nodes], partition)
    up = _usable(listed) if listed else None
    if up is not None and nodes not in (None, up.value):
        raise InputError(
            f"nodes: {nodes} given, {up.value} in {up.place}; leave one of the two out"
        )
    counts = [one.devices for one in seen if one.devices] + [node.shown for node in listed[:1]]
    if not counts:
        raise InputError("from: no output says how many chips a node has; add nvidia-smi topo -m, "
                         "rocm-smi --showtopo or scontrol show nodes")  # fmt: skip
    devices = _agreed(counts, "devices of a node", str)
    memory = _agreed_or_none([one.memory for one in seen], "memory of a device", _gigabytes)
    found, printed = _chip(seen, listed, chip, None if memory is None else memory.value)
    if devices.value % found.devices:
        raise InputError(
            f"chip: {found.name} is {found.devices} devices, {devices.place} has {devices.value}"
        )
    return Node(
        chip=found, printed=printed, chips=_times(devices, found.devices),
        nodes=up, network=_network(seen),
        pcie=next((one.pcie for one in seen if one.pcie), None), wiring=_wiring(seen),
    )  # fmt: skip


def _times(devices: Fact[int], per_chip: int) -> Fact[int]:
    return Fact(
        value=devices.value // per_chip, output=devices.output, line=devices.line, text=devices.text
    )


def _gigabytes(value: float) -> str:
    return f"{value / 1e9:.1f} GB"


def _agreed(facts: Sequence[Fact[T]], what: str, say: Callable[[T], str]) -> Fact[T]:
    """The first of some facts that must all be the same.

    Raises:
        InputError: Two differ.
    """
    for other in facts[1:]:
        if other.value != facts[0].value:
            raise InputError(
                f"from: {what}: {say(facts[0].value)} in {facts[0].place}, {say(other.value)} in "
                f"{other.place}; leave one of the two out"
            )
    return facts[0]


def _agreed_or_none(
    facts: Sequence[Fact[T] | None], what: str, say: Callable[[T], str]
) -> Fact[T] | None:
    there = [fact for fact in facts if fact is not None]
    return _agreed(there, what, say) if there else None


def _chip(
    seen: Sequence[Seen], nodes: list[SchedulerNode], key: str | None, memory_bytes: float | None
) -> tuple[Chip, Fact[str] | None]:
    """The record, and where its name stands.

    Raises:
        InputError: No name is seen, or two that mean different chips.
    """
    names = [one.chip for one in seen if one.chip]
    types = [_as_name(node) for node in nodes[:1] if node.gres]
    if key is not None:
        _check_given(key, next(iter(names), None), memory_bytes)
        return chip_named(key), None
    if not names and not types:
        raise InputError("chip: no output names it; add nvidia-smi -q or rocm-smi "
                         "--showproductname, or say --chip")  # fmt: skip
    chips = {chip_printed(one.value, memory_bytes, one.place).name: one for one in names or types}
    if len(chips) > 1:
        said = ", ".join(f"{name} in {fact.place}" for name, fact in chips.items())
        raise InputError(f"chip: {said}; leave all but one out")
    found = chip_named(next(iter(chips)))
    for one in types:
        product = product_in(one.value)
        if product and product != product_in(found.name):
            raise InputError(
                f"chip: {found.name} in {names[0].place}, {one.value} in {one.place}; leave one out"
            )
    return found, next(iter(chips.values()))


def _check_given(key: str, seen: Fact[str] | None, memory_bytes: float | None) -> None:
    """Refuses a record in place of another one that the outputs name without doubt."""
    if seen is None:
        return
    try:
        printed = chip_printed(seen.value, memory_bytes, seen.place)
    except InputError:  # no record, or several: that is what the argument is for
        return
    if printed.name != chip_named(key).name:
        raise InputError(
            f"chip: {key} given, {printed.name} in {seen.place}; leave one of the two out"
        )


def _as_name(node: SchedulerNode) -> Fact[str]:
    words = node.gres.replace("_", " ")
    return Fact(value=words, output=node.shown.output, line=node.shown.line, text=node.shown.text)


def _scheduled(nodes: list[SchedulerNode], partition: str | None) -> list[SchedulerNode]:
    """Nodes of one kind.

    Raises:
        InputError: There are several kinds, or the partition has none.
    """
    known = sorted({name for node in nodes for name in node.partitions})
    if partition is not None:
        if partition not in known:
            why = not_one_of(partition, known) if known else "no output names partitions"
            raise InputError(f"partition: {why}")
        nodes = [node for node in nodes if partition in node.partitions]
    kinds = {(node.gres, node.shown.value): node for node in nodes}
    if len(kinds) > 1:
        said = ", ".join(f"{count} x {gres or 'gpu'} (line {node.shown.line})"
                         for (gres, count), node in kinds.items())  # fmt: skip
        hint = f"; --partition takes one of {', '.join(known)}" if known else ""
        raise InputError(f"from: {nodes[0].shown.output}: nodes of several kinds: {said}{hint}")
    return nodes


def _usable(nodes: list[SchedulerNode]) -> Fact[int]:
    """How many nodes a job can have.

    Raises:
        InputError: None is up.
    """
    up = [node for node in nodes if node.usable]
    first = nodes[0].shown
    if not up:
        raise InputError(f"from: {first.output}: all {len(nodes)} nodes are down or drained")
    down = f", {len(nodes) - len(up)} more down or drained" if len(up) < len(nodes) else ""
    text = f"{up[0].shown.text}; {len(up)} such nodes{down}"
    return Fact(value=len(up), output=first.output, line=up[0].shown.line, text=text)


def _wiring(seen: Sequence[Seen]) -> Wiring | None:
    """The links that outputs agree on; one that says where they end is preferred.

    Raises:
        InputError: Two have different links.
    """
    found = [one.wiring for one in seen if one.wiring]
    counted = [one for one in found if one.counted] or found
    for other in counted[1:]:
        if other.links != counted[0].links:
            first = counted[0].shown
            raise InputError(f"from: links between devices differ in {first.place} and "
                             f"{other.shown.place}; leave one of the two out")  # fmt: skip
    return next((one for one in counted if one.switched), counted[0] if counted else None)


def _network(seen: Sequence[Seen]) -> Network | None:
    """The devices that every output that lists any has, and that are near a chip if any is.

    Raises:
        InputError: Two outputs state different rates of one, or have none in common.
    """
    lists = [one for one in seen if one.nics]
    merged: dict[str, Nic] = {}
    for nic in (nic for one in lists for nic in one.nics or ()):
        merged[nic.name] = _merged(merged.get(nic.name), nic)
    common = [name for name in merged
              if all(name in {nic.name for nic in one.nics or ()} for one in lists)]  # fmt: skip
    if merged and not common:
        said = " and ".join(dict.fromkeys(one.output for one in lists))
        raise InputError(f"from: {said} have no network device in common; "
                         "leave one out")  # fmt: skip
    rated = [(nic, nic.rate) for name in common if (nic := merged[name]).rate]
    near = [pair for pair in rated if pair[0].near]
    used = near or [pair for pair in rated if pair[1].value == max(r.value for _, r in rated)]
    if not used:
        return None
    total, first = sum(rate.value for _, rate in used), used[0][1]
    names = {nic.name for nic, _ in used}
    return Network(
        nics=len(used), left_out=tuple(name for name in merged if name not in names),
        rate=Fact(value=total, output=first.output, line=first.line, text=first.text),
        outputs=tuple(dict.fromkeys(one.output for one in lists)),
        ethernet=next((nic.ethernet for nic, _ in used if nic.ethernet is not None), None),
    )  # fmt: skip


def _merged(one: Nic | None, other: Nic) -> Nic:
    """A device of which two outputs speak.

    Raises:
        InputError: They state different rates.
    """
    if one is None:
        return other
    if one.rate and other.rate and abs(one.rate.value / other.rate.value - 1) > _SAME_RATE:
        raise InputError(
            f"from: {one.name}: {one.rate.value * 8e-9:g} Gb/s in {one.rate.place}, "
            f"{other.rate.value * 8e-9:g} Gb/s in {other.rate.place}; leave one of the two out"
        )
    return Nic(
        name=one.name, rate=one.rate or other.rate,
        near=other.near if one.near is None else one.near,
        ethernet=other.ethernet if one.ethernet is None else one.ethernet,
    )  # fmt: skip
