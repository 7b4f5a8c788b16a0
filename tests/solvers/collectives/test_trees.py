"""Trees and the pipelines along them: what they carry is right, and how long it takes."""

import pytest
from collective_networks import ring, switch
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.problem import Network, goal_of
from solvers.collectives.schedule import Schedule
from solvers.collectives.trees import chain, double_binary_tree, fits_network, height, pipeline


def test_a_chain_goes_from_each_node_to_the_one_before_it() -> None:
    assert chain((2, 0, 3, 1)) == (2, 3, 2, 0)
    assert chain(range(4)) == (0, 0, 1, 2)
    assert height(chain((2, 0, 3, 1))) == 3
    assert fits_network(chain(range(5)), ring(5))
    assert not fits_network(chain((0, 2, 1, 3, 4)), ring(5))


@each("nodes", [2, 3, 4, 5, 6, 7, 8, 12, 16, 17])
def test_every_node_but_two_is_a_leaf_of_one_tree(nodes: int) -> None:
    trees = double_binary_tree(nodes)
    inside = [{tree[node] for node in range(nodes) if tree[node] != node} for tree in trees]
    assert len(inside[0] & inside[1]) <= 2 or nodes % 2
    for tree in trees:
        children = [sum(p == at != n for n, p in enumerate(tree)) for at in range(nodes)]
        assert max(children) <= 2
        assert sum(parent == node for node, parent in enumerate(tree)) == 1
        assert height(tree) <= nodes.bit_length()


def steps_of(network: Network, name: str, trees: list[tuple[int, ...]]) -> int:
    """Steps of the pipeline of a collective, which breaks no rule."""
    up, down = name != "broadcast", name != "reduce"
    sends = pipeline(network, trees, up=up, down=down)
    steps = 1 + max(send.step for send in sends)
    schedule = Schedule(
        collective=name, chunks=len(trees), rounds=(1,) * steps, sends=tuple(sends)
    )  # fmt: skip
    goal = goal_of(name, network.nodes, len(trees))
    assert list(faults(schedule, network, goal)) == []
    assert len(sends) == (up + down) * len(trees) * (network.nodes - 1)
    return steps


@each("chunks", [1, 5, 10])
def test_chains_are_full_from_end_to_end(chunks: int) -> None:
    """C chunks over n - 1 links: each link waits for the one before it once."""
    network = ring(5)
    for name in ("broadcast", "reduce"):
        assert steps_of(network, name, [chain(range(5))] * chunks) == 4 + chunks - 1
    if chunks >= 5:  # a chunk for each member at least
        assert steps_of(network, "allreduce", [chain(range(5))] * chunks) == 8 + chunks - 1


@pytest.mark.parametrize("nodes", [4, 6])
def test_double_binary_trees_on_a_switch(nodes: int) -> None:
    trees = [*double_binary_tree(nodes)] * (nodes // 2)
    wide, narrow = switch(nodes, 3 * nodes), switch(nodes, 1)
    quick = steps_of(wide, "allreduce", trees)
    assert quick == 2 * max(map(height, trees))
    assert steps_of(narrow, "allreduce", trees) > quick
