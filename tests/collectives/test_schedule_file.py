"""Schedules in files: written, read, and refused with the rule that they break."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.cases import each

from collectives.flooding import dgx1, flooded, gathered, machine
from planner.base.errors import InputError
from planner.collectives.files.schedule_file import (
    MscclOptions,
    read_schedule,
    schedule_json,
    write_schedule,
)
from planner.collectives.machines.degraded import degrade
from planner.collectives.machines.machines import machine_of
from solvers.collectives.greedy import rounds_of
from solvers.collectives.problem import Network, Shared
from solvers.collectives.schedule import Schedule

CASES = (
    ("allgather", 2, 0), ("allreduce", 1, 0), ("broadcast", 3, 2), ("reduce", 3, 2),
    ("alltoall", 1, 0),
)  # fmt: skip


@cache
def made(collective: str = "allgather", chunks: int = 2, root: int = 0) -> Schedule:
    return flooded(dgx1(), collective, chunks, root)


@each(("collective", "chunks", "root"), CASES)
def test_json_comes_back(tmp_path, collective, chunks, root):
    path, schedule = tmp_path / "a.json", made(collective, chunks, root)
    write_schedule(path, machine(dgx1(), "dgx-1"), schedule, root=root)
    saved = read_schedule(path)
    assert (saved.schedule, saved.network, saved.root) == (schedule, dgx1(), root)
    assert saved.label == "dgx-1"
    assert saved.machine is not None
    assert saved.machine.lane_bytes_per_s == 25e9
    assert saved.machine.start_s == 1e-6
    assert np.array_equal(saved.machine.latency_s, machine(dgx1()).latency_s)


@each(("collective", "chunks", "root"), CASES)
def test_xml_comes_back(tmp_path, collective, chunks, root):
    path, schedule = tmp_path / "a.XML", made(collective, chunks, root)
    here = machine(dgx1(), "dgx-1")
    write_schedule(path, here, schedule, root=root, options=MscclOptions(combined=True))
    saved = read_schedule(path, here)
    assert saved.machine is here
    assert saved.root == root
    assert saved.schedule.steps == schedule.steps
    assert saved.schedule.total_rounds == schedule.total_rounds
    alone = read_schedule(path)
    assert alone.machine is None
    assert alone.label == "dgx-1"
    assert set(alone.network.links) <= set(dgx1().links)


@each("spec", ["dgx-1:nodes=2", "dgx-1", "switch:4"])
def test_links_that_differ_come_back_as_they_are(tmp_path, spec):
    here = machine_of(spec)
    here = here if "nodes" in spec else degrade(here, [(0, 1)], 0.3)
    plain = replace(here.network, shared=())
    schedule = flooded(plain, "allgather", 1)
    schedule = replace(schedule, rounds=rounds_of(here.network, schedule.sends, schedule.steps))
    write_schedule(tmp_path / "a.json", here, schedule)
    found = read_schedule(tmp_path / "a.json").machine
    assert found is not None
    assert found.uneven is not None
    assert (found.network, found.wires.network) == (here.network, here.wires.network)
    for name in ("latency_s", "bytes_per_s", "port_bytes_per_s"):
        assert np.array_equal(getattr(found.wires, name), getattr(here.wires, name))
    text = (tmp_path / "a.json").read_text("utf-8")
    broken = json.loads(text)
    del broken["digest"], broken["wires"]["links"][0]
    broken["wires"]["shared"] = []
    (tmp_path / "b.json").write_text(json.dumps(broken), "utf-8")
    with pytest.raises(InputError, match="wires: links: some that have lanes are missing"):
        read_schedule(tmp_path / "b.json")


def test_local_additions_and_shared_capacities_come_back(tmp_path):
    links = tuple((u, v) for u in range(3) for v in range(3) if u != v)
    ports = tuple(
        Shared(links=tuple(i for i, link in enumerate(links) if link[0] == node), capacity=2)
        for node in range(3)
    )
    network = Network(nodes=3, links=links, lanes=(2,) * 6, shared=ports)
    plain = replace(network, shared=())
    schedule = replace(gathered(plain, "allgather", 2), rounds=(2,))
    write_schedule(tmp_path / "a.json", machine(network), schedule)
    saved = read_schedule(tmp_path / "a.json")
    assert (saved.schedule, saved.network) == (schedule, network)
    assert saved.schedule.local_reduce


def edited(tmp_path, change) -> str:
    """The message about a file whose fields were changed; its digest is taken out."""
    fields = json.loads(schedule_json(machine(dgx1()), made()))
    del fields["digest"]
    change(fields)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(fields))
    with pytest.raises(InputError) as caught:
        read_schedule(path)
    lines = str(caught.value).splitlines()
    assert 1 <= len(lines) <= 5
    assert all(line.startswith(f"{path}: ") or line.startswith("and ") for line in lines)
    return str(caught.value)


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(fields):
        for part in path:
            fields = fields[part]
        fields[last] = value

    return change


@each(
    ("change", "words"),
    [
        (put("sends", 0, [9, 0, 1, 0, False]), "sends: entry 0 (step 9, node 0 to 1, chunk 0): st"),
        (put("sends", 0, [0, 0, 7, 0, False]), "there is no link from 0 to 7"),
        (put("sends", 0, [0, 0, 1, 99, False]), "chunks are 0 to 15"),
        (put("sends", 0, [0, 0, 1, 5, False]), "node 0 does not have it before step 0"),
        (put("sends", 0, [0, 0, 1, 0, True]), "allgather adds nothing up"),
        (lambda fields: fields["sends"].pop(), "does not reach node"),
        (put("rounds", [1, 1]), "1 lane in 1 round carries 1"),
        (put("rounds", [1, 0]), "rounds: entry 1: 0: must be at least 1"),
        (put("rounds", []), "rounds: []: must have at least 1 entry"),
        (put("sends", 3, [0, 0, 1]), "sends: entry 3"),
        (put("sends", 3, "x"), "sends: entry 3"),
        (put("links", 1, [0, 0, 1, 0.0]), "links: entry 1: joins node 0 with itself"),
        (put("links", 1, [0, 1, 2, 0.0]), "links: entry 1: the link from 0 to 1 stands twice"),
        (put("links", 1, [0, 8, 2, 0.0]), "links: entry 1: nodes are 0 to 7, not 8"),
        (put("links", 1, [0, 2, 0, 0.0]), "links: entry 1: 0: must be at least 1"),
        (put("shared", [{"links": [99], "capacity": 1}]), "shared: entry 0: links are 0 to 31"),
        (put("lane_bytes_per_s", 0), "lane_bytes_per_s: 0: must be greater than 0"),
        (put("collective", "allgathr"), "'allgathr' is not one of allgather"),
        (put("collective", "allreduce"), "chunks: 2 of an allreduce must be a multiple of the 8"),
        (put("local_reduce", True), "local_reduce: allgather adds nothing up"),
        (put("root", 8), "root: 8 is not one of the nodes 0 to 7"),
        (put("chunks", 10**6), "chunks: 1,000,000 chunks make 8,000,000 parts in all; at most"),
        (put("chunks", 0), "chunks: 0: must be at least 1"),
        (put("nodes", ["a"]), "nodes: ['a']: must have at least 2 entries"),
        (put("rouns", [1]), "rouns: unknown field; did you mean 'rounds'?"),
        (lambda fields: fields.pop("sends"), "sends: is missing"),
        (put("version", 3), "version 3 of the format; this planner reads up to 2"),
        (put("format", "plan"), "is no schedule: its field format is not planner-coll"),
    ],
)  # fmt: skip
def test_faults_are_one_line_each(tmp_path, change, words):
    assert words in edited(tmp_path, change)


def test_an_edit_is_noticed(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        schedule_json(machine(dgx1()), made()).replace('"dgx', '"dgy').replace("mine", "yours")
    )
    with pytest.raises(InputError, match="was changed after it was written; take the field digest"):
        read_schedule(path)


@each(
    ("name", "content", "words"),
    [
        ("a.json", "", "is empty"),
        ("a.json", "[1]", "must be one JSON object"),
        ("a.json", '{"format": ', "is cut off"),
        ("a.json", "x" * (10 * 2**20 + 1), "larger than 10 MiB"),
        ("a.xml", "x" * (10 * 2**20 + 1), "larger than 10 MiB"),
        ("a.xml", "<algo", "line 1: not valid XML"),
        ("a.yaml", "", "a schedule is .json, or .xml for the MSCCL runtime"),
    ],
)
def test_files_that_are_no_schedules(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_schedule(tmp_path / name)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_schedule_for_other_nodes(tmp_path):
    write_schedule(tmp_path / "a.json", machine(dgx1()), made())
    small = Network(nodes=2, links=((0, 1), (1, 0)), lanes=(1, 1))
    with pytest.raises(InputError, match="was made for mine, 8 nodes; mine has 2"):
        read_schedule(tmp_path / "a.json", machine(small))


def test_nothing_is_left_half_written(tmp_path):
    wrong = replace(made(), sends=made().sends[1:])
    for name in ("a.json", "a.xml"):
        with pytest.raises(InputError):
            write_schedule(tmp_path / name, machine(dgx1()), wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_schedule_that_could_never_arrive_is_refused_at_once(tmp_path):
    def change(fields):
        fields |= {"nodes": [str(at) for at in range(2048)], "chunks": 900, "sends": []}

    message = edited(tmp_path, change)
    assert "sends: 0 of them; 900 chunks among 2,048 nodes take about 3,773,030,400" in message


def test_an_algorithm_of_others_is_named_by_its_file(tmp_path):
    path = tmp_path / "a.xml"
    write_schedule(path, machine(dgx1(), "dgx-1"), made())
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(' topology="dgx-1"', ""), encoding="utf-8")
    assert read_schedule(path).label == f"the links of {path}"
    path.write_text(text.replace("</algo>", "</gpu>"), encoding="utf-8")
    with pytest.raises(InputError, match=r"line [0-9]+: not valid XML: mismatched tag$"):
        read_schedule(path)


def test_an_algorithm_on_links_that_are_not_there(tmp_path):
    path = tmp_path / "a.xml"
    write_schedule(path, machine(dgx1(), "dgx-1"), made())
    ring = Network(
        nodes=8, links=tuple((u, (u + d) % 8) for u in range(8) for d in (1, 7)), lanes=(1,) * 16
    )
    with pytest.raises(InputError, match=r"it does not have .* of the .* links that are used"):
        read_schedule(path, machine(ring))


def test_a_huge_number_of_gpus_takes_no_time(tmp_path):
    path = tmp_path / "a.xml"
    write_schedule(path, machine(dgx1(), "dgx-1"), made())
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('ngpus="8"', 'ngpus="999999999999999999"'), encoding="utf-8")
    with pytest.raises(InputError, match="so the gpu elements are 0 to 999999999999999998"):
        read_schedule(path)
