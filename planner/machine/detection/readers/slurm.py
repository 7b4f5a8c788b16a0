"""`scontrol show nodes`: nodes with accelerators, their number and kind, partition by partition.

Source: manual of scontrol, https://slurm.schedmd.com/scontrol.html, and of generic resources,
https://slurm.schedmd.com/gres.html (`gpu[:type]:count`).
"""

from __future__ import annotations

import re

from planner.machine.detection.seen import Output, SchedulerNode, Seen

TOOL = "scontrol show nodes"
_NODE = re.compile(r"^\s*NodeName=(\S+)")
_FIELD = re.compile(r"(?:^|\s)(Gres|State|Partitions)=(\S*)")
_GPU = re.compile(r"(?:^|,)gpu(?::([^:,()]+))?:([1-9][0-9]*)(?=[,(]|$)")
_OUT = ("DOWN", "DRAIN", "FAIL", "FUTURE", "UNKNOWN", "NOT_RESPONDING")


def recognises(text: str) -> bool:
    """Whether a text lists nodes."""
    return re.search(r"^[^\S\n]*+NodeName=\S", text, re.MULTILINE) is not None


def read(output: Output) -> Seen:
    """Nodes with accelerators.

    Raises:
        InputError: None has any, or one has several kinds.
    """
    places: list[int] = []
    fields: list[dict[str, str]] = []
    for at, line in enumerate(output.lines()):
        if _NODE.match(line):
            places.append(at)
            fields.append({})
        for name, value in _FIELD.findall(line) if fields else ():
            fields[-1].setdefault(name, value)
    nodes = []
    for at, node in zip(places, fields, strict=True):
        kinds = _GPU.findall(node.get("Gres", ""))
        if len(kinds) > 1:
            raise output.mistake(at, f"a node with {len(kinds)} kinds of GPU ({node['Gres']})")
        nodes += [
            SchedulerNode(
                shown=output.fact(int(output.number(count, at, "Gres")), at), gres=kind.lower(),
                partitions=tuple(filter(None, node.get("Partitions", "").split(","))),
                usable=not any(word in node.get("State", "") for word in _OUT),
            )
            for kind, count in kinds
        ]  # fmt: skip
    if not nodes:
        raise output.mistake(places[0], f"none of {len(places)} nodes has Gres=gpu")
    return Seen(tool=TOOL, output=output.name, nodes=tuple(nodes))
