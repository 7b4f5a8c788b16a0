"""Schedules under other numbers of the GPUs, and what `nvidia-smi topo -m` says of a machine."""

import numpy as np
import pytest
from support.cases import each

from collectives.flooding import dgx1, flooded, gathered, machine, network_of
from planner.base.errors import InputError
from planner.collectives.machines.renumber import (
    link_matrix,
    order_for,
    orders_between,
    parse_order,
    parse_topo,
    renumbered,
    renumbered_machine,
    renumbered_network,
)
from planner.collectives.msccl.run import run
from planner.collectives.msccl.xml import program_of
from solvers.collectives.checking import faults
from solvers.collectives.synthesis import synthesize

ORDER = (0, 3, 1, 2, 4, 7, 5, 6)


def topo(matrix, extra: str = "") -> str:
    """What `nvidia-smi topo -m` prints of a machine with these NVLinks; rows of the CPUs differ."""
    size = len(matrix)
    head = "\t" + "\t".join(f"\x1b[4mGPU{v}" for v in range(size)) + "\tmlx5_0\tCPU Affinity\x1b[0m"
    rows = [head]
    for u in range(size):
        cells = ["X" if u == v else f"NV{n}" if (n := matrix[u][v]) else "SYS" for v in range(size)]
        rows.append("\t".join([f"GPU{u}", *map(" {:<4}".format, cells), "PIX", "0-19,40-59"]))
    legend = ["mlx5_0\tPIX\tPIX\t X", "", "Legend:", "  NV#  = Connection traversing NVLinks"]
    return "\n".join([*rows, *legend, extra])


def test_sccl_numbers_become_those_of_nvidia_smi():
    there = parse_topo(topo(link_matrix(dgx1("links_between")).tolist()))
    orders = orders_between(link_matrix(dgx1()), there)
    assert len(orders) == 4
    assert order_for(dgx1(), there) == orders[0] == ORDER
    matrix = link_matrix(renumbered_network(dgx1(), ORDER))
    assert np.array_equal(matrix, there)


@each(
    ("collective", "chunks", "root", "local"),
    [
        ("allgather", 2, 0, False), ("reduce-scatter", 2, 0, False), ("allreduce", 1, 0, False),
        ("broadcast", 3, 2, False), ("reduce", 3, 2, False), ("gather", 2, 5, False),
        ("scatter", 2, 5, False), ("alltoall", 1, 0, False), ("allgather", 2, 0, True),
        ("gather", 2, 5, True), ("alltoall", 1, 0, True),
    ],
)  # fmt: skip
def test_a_renumbered_schedule_is_right_on_the_renumbered_machine(collective, chunks, root, local):
    schedule = (gathered if local else flooded)(dgx1(), collective, chunks, root)
    moved = renumbered(schedule, ORDER)
    there = dgx1("links_between")
    assert faults(moved, there, root=ORDER[root]) == ()
    assert run(program_of(moved, there, root=ORDER[root])).faults == ()
    back = tuple(ORDER.index(node) for node in range(8))
    assert renumbered(moved, back) == schedule


def test_without_new_numbers_links_carry_too_much():
    """The same pairs are joined under both numberings, others of them twice."""
    found = synthesize(dgx1(), "allgather", 2, 2).decision
    assert found is not None
    there = dgx1("links_between")
    assert {fault.rule for fault in faults(found, there)} == {"lanes"}
    assert faults(renumbered(found, ORDER), there) == ()


def test_a_renumbered_machine_keeps_names_and_latencies_of_links():
    before = machine(dgx1())
    after = renumbered_machine(before, ORDER)
    assert after.names[3] == "GPU1"
    latency = dict(zip(before.network.links, before.latency_s, strict=True))
    for (u, v), value in zip(after.network.links, after.latency_s, strict=True):
        assert latency[ORDER.index(u), ORDER.index(v)] == value


def test_symmetries_move_with_the_nodes():
    before = machine(network_of(np.roll(np.eye(4, dtype=int), 1, axis=1)))
    turned = type(before)(
        **{
            **{name: getattr(before, name) for name in before.__slots__},
            "symmetries": ((1, 2, 3, 0),),
        }
    )
    after = renumbered_machine(turned, (2, 0, 3, 1))
    (turn,) = after.symmetries
    links = set(after.network.links)
    assert {(turn[u], turn[v]) for u, v in links} == links


def test_lanes_of_any_size_fit():
    """Lanes are in units of the slowest link; only proportions count."""
    assert orders_between(link_matrix(dgx1()) * 25, link_matrix(dgx1("links_between")))
    ring = np.roll(np.eye(8, dtype=int), 1, axis=1)
    assert orders_between(link_matrix(dgx1()), ring + ring.T) == []


@each(
    ("text", "words"),
    [
        ("0,1", "2 numbers for 3 nodes"),
        ("0,1,3", "GPU 3; GPUs are 0 to 2"),
        ("0,1,1", "GPU 1 takes the place of two nodes"),
        ("0,a,1", "'a' is not the number of a GPU, 0 to 2"),
        ("0,-1,1", "'-1' is not the number of a GPU"),
        ("", "0 numbers for 3 nodes"),
    ],
)
def test_orders_that_are_none(text, words):
    with pytest.raises(InputError, match=words):
        parse_order(text, 3)


def test_orders_are_read_as_people_write_them():
    assert parse_order("[0, 2,1]", 3) == parse_order("0 2 1", 3) == (0, 2, 1)


@each(
    ("text", "words"),
    [
        ("nothing", "has no rows GPU0, GPU1"),
        (topo([[0, 1], [2, 0]]), "1 links from GPU0 to GPU1, 2 back"),
        (topo([[0, 1], [1, 0]]).replace("NV1", "NVX"), "row GPU0, GPU1: 'NVX' is none of NV1"),
        ("GPU0 X NV1\nGPU1 NV1", "row GPU1: 1 entries for 2 GPUs"),
        ("GPU1 X NV1\nGPU2 NV1 X", "rows are GPU1, GPU2, not GPU0 to GPU1"),
    ],
)
def test_outputs_that_cannot_be_read(text, words):
    with pytest.raises(InputError, match=words):
        parse_topo(text)


def test_a_machine_of_other_links():
    ring = np.roll(np.eye(8, dtype=int), 1, axis=1)
    with pytest.raises(
        InputError, match=r"is for 16 links of 1 lane and 16 of 2, the mach.* 16 links of 1 lane"
    ) as e:
        order_for(dgx1(), ring + ring.T)
    assert "\n" not in str(e.value)
    with pytest.raises(InputError, match="the schedule is for 8 GPUs, the machine has 2"):
        order_for(dgx1(), np.array([[0, 1], [1, 0]]))
