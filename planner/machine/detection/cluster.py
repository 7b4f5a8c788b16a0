"""The cluster file of what was seen, which the reader of such files accepts, and what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from frozen_records import dataclass
from hardware_db import Cluster, HardwareError, list_chips, list_clusters, load_cluster
from hardware_db.making import completed, made_cluster
from hardware_db.reading import parse
from planner.base.errors import InputError
from planner.base.units import plural
from planner.machine.detection.levels import Base, base_for, scale_out, scale_up
from planner.machine.detection.node import Node, node_of
from planner.machine.detection.quantities import (
    Sources,
    as_in,
    assumed,
    derived,
    measured,
    where,
)
from planner.machine.detection.seen import Seen
from strict_yaml.text import YamlText
from strict_yaml.writing import dump

_HEAD = (
    "# A cluster as planner hardware detect saw it: measured and derived numbers name the line\n"
    "# that shows them, assumed ones were not seen. Correct what you know better.\n"
)
_SEEN = "seen.yaml"
_WIDTH = 130
_SAME_RATE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """A cluster file and what is said of it.

    Attributes:
        cluster: As the reader of such files understands it.
        data: Content of the file.
        text: The file.
        records: From which the numbers are that were not seen.
        same_as: Records that agree with all that was seen.
        nodes: Of the cluster; None: not said.
        seen: (what, what it is, the line that shows it).
        assumed: (part of the file, its fields that nothing shows).
        remarks: What else to know.
    """

    cluster: Cluster
    data: dict[str, Any]
    text: str
    records: tuple[str, ...]
    same_as: tuple[str, ...]
    nodes: int | None
    seen: tuple[tuple[str, str, str], ...]
    assumed: tuple[tuple[str, tuple[str, ...]], ...]
    remarks: tuple[str, ...]


def detected(
    seen: Sequence[Seen],
    *,
    name: str,
    chip: str | None = None,
    nodes: int | None = None,
    partition: str | None = None,
) -> Detected:
    """The cluster that outputs of tools on one of its nodes show.

    Args:
        seen: What they say.
        name: Of the cluster.
        chip: Key of the chip's record, in place of what is printed.
        nodes: Of the cluster, where no scheduler says it.
        partition: Of the scheduler.

    Raises:
        InputError: They contradict each other, leave out what is needed, or show what no cluster
            file can say.
    """
    if name in list_clusters():
        raise InputError(f"output: {name!r} is the name of a record; nearest: my-{name}")
    node = node_of(seen, chip=chip, partition=partition, nodes=nodes)
    base, sources = base_for(node), Sources(seen, (*list_clusters(), *list_chips()))
    count = node.nodes.value if node.nodes else nodes
    data = _data(node, base, sources, name, count)
    text = _HEAD + dump(data, width=_WIDTH, flow=_in_one_line)
    cluster = _loaded(text)
    return Detected(
        cluster=cluster, data=data, text=text, records=_records(data), same_as=_same(cluster, node),
        nodes=count, seen=tuple(_rows(node, data, cluster)), assumed=tuple(_assumed(data)),
        remarks=tuple(_remarks(node, seen, base)),
    )  # fmt: skip


def _data(node: Node, base: Base, sources: Sources, name: str, count: int | None) -> dict[str, Any]:
    """The content of the file."""
    chips = node.chips.value
    levels = scale_up(node, base, sources)
    within = int(levels[-1]["domain"]["value"]) if levels else 1
    most = None if count is None else count * chips
    if not levels or most is None or most > within:
        levels += scale_out(node, base, sources, max(within, chips), most)
    printed = "" if node.printed is None else f" ({where(node.printed)})"
    data = {
        "name": name,
        "title": f"{plural(count, 'node') if count else 'Nodes'} of {chips} x {node.chip.title}",
        "note": f"chip {node.chip.name}{printed or ', as --chip says'}",
        "chip": node.chip.name,
        "node_chips": measured(chips, "chip", node.chips, sources),
        "max_chips": _most_chips(node, base, sources, count),
        "levels": levels,
    }
    return {**data, "sources": sources.to_dict(set(_keys(data)))}


def _most_chips(node: Node, base: Base, sources: Sources, count: int | None) -> dict[str, Any]:
    chips = node.chips.value
    if node.nodes:
        how = f"{plural(node.nodes.value, 'node')} of {chips}"
        return derived(node.nodes.value * chips, "chip", how, node.nodes, [], sources)
    if count is not None:
        return assumed(
            count * chips, "chip", f"{plural(count, 'node')} of {chips}, as --nodes says"
        )
    whole: dict[str, Any] = as_in(base.data["max_chips"], base.name)
    whole["value"] -= whole["value"] % chips
    return {**whole, "note": "neither a scheduler nor --nodes says it"}


def _in_one_line(node: list[Any] | dict[str, Any]) -> bool:
    """Whether a number with its provenance, or a list of keys, is short."""
    parts = node.values() if isinstance(node, dict) else node
    return not any(isinstance(part, dict) for part in parts) and len(str(node)) <= _WIDTH


def _keys(node: Any) -> Iterator[str]:
    """Sources that numbers name."""
    if isinstance(node, list):
        for part in node:
            yield from _keys(part)
    elif isinstance(node, dict):
        source = node.get("source")
        yield from [source] if isinstance(source, str) else source or ()
        for part in node.values():
            yield from _keys(part)


def _loaded(text: str) -> Cluster:
    """The cluster, as the reader of files has it.

    Raises:
        InputError: It does not accept the file.
    """
    content = text.encode()
    try:
        data = parse(content, _SEEN)
        return made_cluster(completed(data, YamlText(_SEEN, content)))
    except HardwareError as error:
        lines = [line.replace(f"{_SEEN}: ", "") for line in error.problems]
        raise InputError(
            "\n".join(f"from: what was seen is no cluster that can be modelled: {line}"
                      for line in lines)
        ) from error  # fmt: skip


def _same(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Records that agree with all that was seen, the chip's default cluster first."""
    default = cluster.chip.default_cluster
    names = sorted(list_clusters(), key=lambda name: (name != default, name))
    return tuple(name for name in names if _agrees(load_cluster(name), cluster, node))


def _agrees(record: Cluster, cluster: Cluster, node: Node) -> bool:
    if (record.chip.name, record.node_chips) != (cluster.chip.name, cluster.node_chips):
        return False
    kinds = [kind for kind, was_seen in (("scale-up", node.wiring), ("scale-out", node.network))
             if was_seen]  # fmt: skip
    for kind in kinds:
        mine, other = ([level for level in one.levels if level.kind == kind]
                       for one in (cluster, record))  # fmt: skip
        if kind == "scale-out":
            mine, other = mine[:1], other[:1] if mine else []
        if len(mine) != len(other):
            return False
        for one, two in zip(mine, other, strict=True):
            rate = one.bandwidth_bytes_per_s / two.bandwidth_bytes_per_s
            alike = kind == "scale-out" or (one.topology, one.domain_chips) == (
                two.topology, two.domain_chips)  # fmt: skip
            if not alike or abs(rate - 1) > _SAME_RATE:
                return False
    return True


def _records(data: dict[str, Any]) -> tuple[str, ...]:
    """Sources of assumed numbers, those of most numbers first."""
    numbers = [part for level in data["levels"] for part in level.values()
               if isinstance(part, dict) and part.get("kind") == "assumed"]  # fmt: skip
    return tuple(name for name, _ in Counter(_keys(numbers)).most_common())


def _rows(node: Node, data: dict[str, Any], cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    """What was seen, one thing a row."""
    seen = "--chip" if node.printed is None else where(node.printed)
    yield "chip", node.chip.name, seen
    yield "node", plural(node.chips.value, "chip"), where(node.chips)
    for level, raw in zip(cluster.levels, data["levels"], strict=True):
        if raw["bandwidth"]["kind"] != "assumed":
            domain = f" of {level.domain_chips}" if level.domain_chips else ""
            rate = f"{level.bandwidth_bytes_per_s / 1e9:g} GB/s per chip"
            yield level.name, f"{level.topology}{domain}, {rate}", raw["bandwidth"]["note"]
    if node.nodes is not None:
        yield "nodes", f"{node.nodes.value}", where(node.nodes)


def _assumed(data: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What was not seen, one part of the file a row."""
    top = tuple(name for name in ("node_chips", "max_chips") if data[name]["kind"] == "assumed")
    if top:
        yield "cluster", top
    for level in data["levels"]:
        yield level["name"], tuple(
            name for name, part in level.items()
            if isinstance(part, dict) and part.get("kind", "assumed") == "assumed"
        )  # fmt: skip


def _remarks(node: Node, seen: Sequence[Seen], base: Base) -> Iterator[str]:
    if node.network is None and any(one.nics for one in seen):
        yield "network devices are seen, their rates are not: add ibstat"
    if node.network is not None and node.network.ethernet:
        yield f"links between nodes are Ethernet; latencies and powers are still as in {base.name}"
    if node.chip.devices > 1 and node.wiring is not None:
        yield (f"links are those of {base.name}: outputs show those of the {node.chip.devices} "
               f"devices of each chip, inside and out")  # fmt: skip
