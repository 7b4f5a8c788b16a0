"""Schedules in files: JSON with the network that they are for, or XML for the MSCCL runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.fields import choice
from planner.base.files import read_bytes, read_text, write_atomically
from planner.base.jsonfile import SEAL, digest_of, json_object, sealed
from planner.base.messages import one_line
from planner.base.mistakes import mistakes
from planner.collectives.files.checks import MOST_CHUNKS, check, check_made_for, first
from planner.collectives.machines.machine import Machine, Wires
from planner.collectives.msccl.program import from_xml, to_xml
from planner.collectives.msccl.read import schedule_of
from planner.collectives.msccl.xml import MAX_BYTES, program_of
from solvers.collectives.problem import COLLECTIVES, ROOTED, Network, Shared
from solvers.collectives.schedule import Schedule, Send

FORMAT = "planner-collective-schedule"
VERSION = 2
"""1 without the field `wires`, which only machines whose links differ need."""
ENDINGS = (".json", ".xml")
_MOST_NODES = 2048
_MOST_LANES = 10**6

_Node = Annotated[int, Field(ge=0, lt=_MOST_NODES)]
_Lanes = Annotated[int, Field(ge=1, le=_MOST_LANES)]
_Latency = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
_Step = Annotated[int, Field(ge=0, le=10**6)]
_Chunk = Annotated[int, Field(ge=0, lt=MOST_CHUNKS)]
_Rate = Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MscclOptions:
    """How an MSCCL file is written; see `planner.collectives.msccl.xml.program_of`."""

    name: str = ""
    protocol: str = "Simple"
    in_place: bool = False
    combined: bool = False
    channels: int | None = None
    min_bytes: int = 0
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A schedule from a file.

    Attributes:
        schedule: What is sent when; it keeps all rules on `network`.
        network: Its links; of an XML file read without a machine, those that it uses.
        root: Of a rooted collective.
        label: The topology; of an XML file that does not name it, `the links of` the file.
        machine: Names and times; None where the file says nothing of them.
    """

    schedule: Schedule
    network: Network
    root: int
    label: str
    machine: Machine | None


def check_ending(path: Path) -> str:
    """The ending of the file of a schedule, in lower case.

    Raises:
        InputError: It is none of `ENDINGS`.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        allowed = "a schedule is .json, or .xml for the MSCCL runtime"
        raise InputError(f"{one_line(str(path))}: {allowed}")
    return ending


def write_schedule(
    path: Path,
    machine: Machine,
    schedule: Schedule,
    *,
    root: int = 0,
    options: MscclOptions | None = None,
) -> None:
    """Writes a schedule whole or not at all, as its ending says.

    Args:
        path: Ends in .json, or in .xml for the MSCCL runtime.
        machine: Where it runs.
        schedule: What is written.
        root: Of a rooted collective.
        options: Of an MSCCL file.

    Raises:
        InputError: Another ending, a path that cannot be written, a schedule that breaks a rule,
            or that exceeds a limit of the MSCCL runtime.
    """
    ending = check_ending(path)
    text = (
        schedule_json(machine, schedule, root=root)
        if ending == ".json"
        else schedule_xml(machine, schedule, root=root, options=options)
    )
    write_atomically(path, text)


def read_schedule(path: Path, machine: Machine | None = None) -> Saved:
    """Reads a schedule, and replays it by the rules of the model.

    Args:
        path: Ends in .json or .xml.
        machine: Where it runs; default: what a JSON file says, and of an XML file its links.

    Raises:
        InputError: One line for each of the first faults: what is wrong in the file, which send
            breaks which rule.
    """
    name = one_line(str(path))
    if check_ending(path) == ".json":
        return _read_json(read_bytes(path), name, machine)
    program = from_xml(read_text(path), name)
    schedule, network, root = schedule_of(program, name, machine.network if machine else None)
    label = machine.label if machine else program.notes.get("topology") or f"the links of {name}"
    return Saved(schedule=schedule, network=network, root=root, label=label, machine=machine)


def schedule_xml(
    machine: Machine, schedule: Schedule, *, root: int = 0, options: MscclOptions | None = None
) -> str:
    """The MSCCL file of a schedule; raises as `write_schedule` does."""
    chosen = asdict(options or MscclOptions())
    program = program_of(schedule, machine.network, root=root, label=machine.label, **chosen)
    return to_xml(program)


def schedule_json(machine: Machine, schedule: Schedule, *, root: int = 0) -> str:
    """The JSON file of a schedule and its network, one link or send a line.

    Raises:
        InputError: The schedule breaks a rule.
    """
    network = machine.network
    check("schedule", schedule, network, root)
    fields = {
        "format": FORMAT,
        "version": 1 if machine.uneven is None else VERSION,
        "topology": machine.label,
        "nodes": list(machine.names),
        "lane_bytes_per_s": float(machine.lane_bytes_per_s),
        "start_s": float(machine.start_s),
        "links": [
            [*link, lanes, float(latency)]
            for link, lanes, latency in zip(
                network.links, network.lanes, machine.latency_s, strict=True
            )
        ],
        "shared": [{"links": list(s.links), "capacity": s.capacity} for s in network.shared],
        **({} if machine.uneven is None else {"wires": _wires_fields(machine.uneven)}),
        "collective": schedule.collective,
        "root": root if schedule.collective in ROOTED else 0,
        "local_reduce": schedule.local_reduce,
        "chunks": schedule.chunks,
        "rounds": list(schedule.rounds),
        "sends": [[*send[:4], send.reduces] for send in schedule.sends],
    }
    return _laid_out(sealed(fields))


def _wires_fields(wires: Wires) -> dict[str, Any]:
    """The links as they are."""
    network = wires.network
    columns = (network.lanes, wires.latency_s.tolist(), wires.bytes_per_s.tolist())
    return {
        "links": [[*ends, *row] for ends, *row in zip(network.links, *columns, strict=True)],
        "shared": [
            {"links": list(port.links), "capacity": port.capacity, "bytes_per_s": rate}
            for port, rate in zip(network.shared, wires.port_bytes_per_s.tolist(), strict=True)
        ],
    }


def _laid_out(fields: dict[str, Any]) -> str:
    """JSON with a line for each field, and for each entry of those that hold lists."""
    parts = []
    for name, value in fields.items():
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if isinstance(value, list) and value and isinstance(value[0], list | dict):
            rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
            text = "[\n    " + ",\n    ".join(rows) + "\n  ]"
        parts.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


class _SharedModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    links: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    capacity: _Lanes


class _PortModel(_SharedModel):
    bytes_per_s: _Rate


class _WiresModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    links: Annotated[list[tuple[_Node, _Node, _Lanes, _Latency, _Rate]], Field(min_length=1)]
    shared: list[_PortModel] = []


class _File(BaseModel):
    """The fields of a JSON file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["planner-collective-schedule"]
    version: Annotated[int, Field(ge=1)]
    topology: Annotated[str, Field(max_length=200)]
    nodes: Annotated[
        list[Annotated[str, Field(max_length=100)]], Field(min_length=2, max_length=_MOST_NODES)
    ]
    lane_bytes_per_s: _Rate
    start_s: _Latency = 0.0
    links: Annotated[list[tuple[_Node, _Node, _Lanes, _Latency]], Field(min_length=1)]
    shared: list[_SharedModel] = []
    wires: _WiresModel | None = None
    collective: Annotated[str, choice(COLLECTIVES)]
    root: _Node = 0
    local_reduce: bool = False
    chunks: Annotated[int, Field(ge=1, le=10**6)]
    rounds: Annotated[list[Annotated[int, Field(ge=1, le=10**9)]], Field(min_length=1)]
    sends: list[tuple[_Step, _Node, _Node, _Chunk, bool]]
    digest: str | None = None


def _read_json(content: bytes, name: str, machine: Machine | None) -> Saved:
    data, text = json_object(content, name)
    if data.get("format") != FORMAT:
        raise InputError(f"{name}: is no schedule: its field format is not {FORMAT}")
    if isinstance(data.get("version"), int) and data["version"] > VERSION:
        words = f"this planner reads up to {VERSION}"
        raise InputError(f"{name}: version {data['version']} of the format; {words}")
    try:
        file = _File.model_validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":  # half of a character
            reason = one_line(str(error.errors()[0]["ctx"]["error"]))
            raise InputError(f"{name}: not valid JSON: {reason}") from error
        raise InputError(first(mistakes(error, _labels(name), _File.model_fields))) from error
    if file.digest is not None and file.digest != digest_of(data):
        words = "was changed after it was written"
        raise InputError(f"{name}: {words}; take the field {SEAL} out to use it as it is")
    used = machine or _machine(file, name)
    order = sorted(range(len(file.sends)), key=file.sends.__getitem__)
    schedule = _schedule(file, order)
    if used.network.nodes != len(file.nodes):
        words = f"{len(file.nodes)} nodes; {used.label} has {used.network.nodes}"
        raise InputError(f"{name}: was made for {file.topology}, {words}")
    if machine is not None:
        made_for = _network(len(file.nodes), file.links, ())
        check_made_for(name, schedule, file.topology, machine, made_for)
    check(name, schedule, used.network, file.root, order)
    return Saved(
        schedule=schedule, network=used.network, root=file.root, label=used.label, machine=used
    )


def _labels(name: str) -> Any:
    """`file.json: sends: entry 3` for the path of a value."""

    def label(path: Any) -> str:
        field, *rest = path or ("file",)
        where = "".join(
            f": entry {step}" if isinstance(step, int) else f": {step}" for step in rest[:1]
        )
        return f"{name}: {field}{where}"

    return label


def _machine(file: _File, name: str) -> Machine:
    """The machine of a file.

    Raises:
        InputError: Links that are no network; one line each.
    """
    nodes = len(file.nodes)
    lines = list(_odd_links(nodes, [link[:2] for link in file.links], file.shared))
    if file.wires is not None:
        wired = [link[:2] for link in file.wires.links]
        odd = _odd_links(nodes, wired, file.wires.shared)
        lines += [f"wires: {line}" for line in odd]
        if not {link[:2] for link in file.links} <= set(wired):
            lines.append("wires: links: some that have lanes are missing")
    if lines:
        raise InputError(first([f"{name}: {line}" for line in lines]))
    network = _network(nodes, file.links, file.shared)
    return Machine(
        label=file.topology,
        names=tuple(file.nodes),
        network=network,
        lane_bytes_per_s=file.lane_bytes_per_s,
        latency_s=np.array([link[3] for link in file.links]),
        start_s=file.start_s,
        uneven=None if file.wires is None else _wires(nodes, file.wires),
    )


def _wires(nodes: int, wires: _WiresModel) -> Wires:
    return Wires(
        network=_network(nodes, wires.links, wires.shared),
        latency_s=np.array([link[3] for link in wires.links]),
        bytes_per_s=np.array([link[4] for link in wires.links]),
        port_bytes_per_s=np.array([port.bytes_per_s for port in wires.shared]),
    )


def _network(nodes: int, links: Sequence[Any], shared: Sequence[_SharedModel]) -> Network:
    return Network(
        nodes=nodes,
        links=tuple(link[:2] for link in links),
        lanes=tuple(link[2] for link in links),
        shared=tuple(
            Shared(links=tuple(sorted(set(one.links))), capacity=one.capacity) for one in shared
        ),
    )


def _odd_links(
    nodes: int, links: Sequence[tuple[int, int]], shared: Sequence[_SharedModel]
) -> Iterator[str]:
    """Links and shared capacities that no network has."""
    seen = set()
    for at, (source, target) in enumerate(links):
        if max(source, target) >= nodes:
            words = f"nodes are 0 to {nodes - 1}, not {max(source, target)}"
            yield f"links: entry {at}: {words}"
        elif source == target:
            yield f"links: entry {at}: joins node {source} with itself"
        elif (source, target) in seen:
            yield f"links: entry {at}: the link from {source} to {target} stands twice"
        seen.add((source, target))
    for at, one in enumerate(shared):
        if max(one.links) >= len(links):
            yield f"shared: entry {at}: links are 0 to {len(links) - 1}, not {max(one.links)}"


def _schedule(file: _File, order: Sequence[int]) -> Schedule:
    return Schedule(
        collective=file.collective,
        chunks=file.chunks,
        rounds=tuple(file.rounds),
        sends=tuple(Send(*file.sends[at]) for at in order),
        local_reduce=file.local_reduce,
    )
