"""Clocks of a fixed 1F1B pipeline: Perseus's time-cost tradeoff per operation, ours per stage.

Perseus plans a duration for every forward and backward of every micro-batch, continuous between
the clocks, and then takes for each the slowest clock that meets it. Ours takes one clock per stage:

    T = (m - 1) max_i t_i + sum_i t_i,   E = m sum_i e_i.

T is never below the longest path of the operations. Both plans are evaluated on one graph of
operations: its longest path, the sum of energies. The operations are invented (no profile is
published with the solver): p stages, the last 15 % longer, backward twice forward, times
~ 1 / clock, energies ~ 0.3 + 0.7 clock^2.

Source: Chung et al., Reducing Energy Bloat in Large Model Training (Perseus), SOSP 2024;
Phillips and Dessouky, Solving the project time/cost tradeoff problem, Management Science 1977.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.stages.backend import COST, Question
from solvers.stages.problem import Columns, Form, StageProblem
from solvers.stages.solving import solve_stages

Floats = npt.NDArray[np.float64]
Node = tuple[int, int, bool]
"""Stage, micro-batch, whether it is a forward."""
_US = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Operations of a pipeline.

    Attributes:
        seconds, joules: (p, 2, k) of forward and backward by stage and clock, fastest first.
        micro_batches: m.
    """

    seconds: Floats
    joules: Floats
    micro_batches: int

    @property
    def stages(self) -> int:
        """How many there are: p."""
        return len(self.seconds)


def invented(stages: int, micro_batches: int) -> Pipeline:
    """The pipeline of the module."""
    clocks = np.array([1.0, 0.9, 0.8, 0.7, 0.6])
    work = np.array([1.0] * (stages - 1) + [1.15])[:, None] * np.array([0.1, 0.2])
    seconds = work[:, :, None] / clocks
    joules = 400.0 * work[:, :, None] * (0.3 + 0.7 * clocks**2)
    return Pipeline(seconds=seconds, joules=joules, micro_batches=micro_batches)


def orders(pipeline: Pipeline) -> list[list[Node]]:
    """What each stage runs, in the order of 1F1B."""
    found = []
    for stage in range(pipeline.stages):
        ahead = min(pipeline.stages - 1 - stage, pipeline.micro_batches)
        own: list[Node] = [(stage, j, True) for j in range(ahead)]
        for j in range(ahead, pipeline.micro_batches):
            own += [(stage, j, True), (stage, j - ahead, False)]
        done = pipeline.micro_batches - ahead
        own += [(stage, j, False) for j in range(done, pipeline.micro_batches)]
        found.append(own)
    return found


def edges(pipeline: Pipeline) -> list[tuple[Node, Node]]:
    """What must end before what begins."""
    found = [pair for own in orders(pipeline) for pair in itertools.pairwise(own)]
    for stage, j in itertools.product(range(pipeline.stages - 1), range(pipeline.micro_batches)):
        found.append(((stage, j, True), (stage + 1, j, True)))
        found.append(((stage + 1, j, False), (stage, j, False)))
    last = pipeline.stages - 1
    return found + [((last, j, True), (last, j, False)) for j in range(pipeline.micro_batches)]


def evaluated(pipeline: Pipeline, clock: Mapping[Node, int]) -> tuple[float, float]:
    """Seconds of the longest path and joules of all operations."""
    before: dict[Node, list[Node]] = {node: [] for own in orders(pipeline) for node in own}
    for first, then in edges(pipeline):
        before[then].append(first)
    ends: dict[Node, float] = {}
    waiting = list(before)
    while waiting:
        ready = [node for node in waiting if all(other in ends for other in before[node])]
        for node in ready:
            begin = max((ends[other] for other in before[node]), default=0.0)
            ends[node] = begin + pipeline.seconds[node[0], int(not node[2]), clock[node]]
        waiting = [node for node in waiting if node not in ends]
    joules = sum(pipeline.joules[node[0], int(not node[2]), k] for node, k in clock.items())
    return max(ends.values()), float(joules)


def per_stage(pipeline: Pipeline, limits: Sequence[float]) -> list[dict[Node, int]]:
    """Clocks of least energy within each limit on the time, by our solver."""
    p, _, clocks = pipeline.seconds.shape
    time = np.ceil(pipeline.seconds.sum(axis=1) / _US).astype(np.int64).ravel()
    cost = np.ceil(pipeline.joules.sum(axis=1) / _US).astype(np.int64).ravel()
    device = np.repeat(np.arange(p), clocks)
    problem = StageProblem(
        layers=p,
        chunks=np.arange(p)[:, None],
        columns=Columns(
            device=device,
            starts=device[:, None],
            ends=device[:, None] + 1,
            group=np.zeros_like(device),
            sums=np.stack([time, cost], axis=1),
            peaks=time[:, None],
        ),
        time=(Form(sums=(1, 0), peaks=(pipeline.micro_batches - 1,)),),
        cost=Form(sums=(0, pipeline.micro_batches)),
    )
    plans = []
    for limit in limits:
        asked = Question(problem=problem, minimize=COST, longest=int(limit / _US))
        found = solve_stages(asked).decision
        if found is None:
            raise ValueError(f"no clocks keep {limit} s")
        chosen = found.columns % clocks
        plans.append({node: int(chosen[node[0]]) for own in orders(pipeline) for node in own})
    return plans


def front(pipeline: Pipeline, unit_s: float) -> list[dict[Node, int]]:
    """Clocks of every point of Perseus's front; Lowtime must be installed."""
    graphs, operation = import_module("networkx"), import_module("lowtime.operation")
    specs = {
        (i, b): operation_spec(pipeline.seconds[i, b], pipeline.joules[i, b], unit_s)
        for i, b in itertools.product(range(pipeline.stages), range(2))
    }
    graph = graphs.DiGraph()
    number = {node: k + 1 for k, node in enumerate(itertools.chain(*orders(pipeline)))}
    for node, k in number.items():
        graph.add_node(k, op=operation.Operation(spec=specs[node[0], int(not node[2])]))
    graph.add_edges_from((number[a], number[b]) for a, b in edges(pipeline))
    utilities = import_module("lowtime.graph_utils")
    utilities.add_source_node(graph, 0)
    utilities.add_sink_node(graph, len(number) + 1)
    graph.graph |= {"source_node": 0, "sink_node": len(number) + 1}
    solver = import_module("lowtime.solver").PhillipsDessouky(graph)
    return [
        {node: graph.nodes[k]["op"].assigned_knob for node, k in number.items()}
        for _ in solver.run()
    ]


def operation_spec(seconds: Floats, joules: Floats, unit_s: float) -> Any:
    """What Lowtime knows of an operation, its options by number."""
    operation, models = import_module("lowtime.operation"), import_module("lowtime.cost_model")
    options = operation.CandidateExecutionOptions(
        options=[
            operation.ExecutionOption(real_time=t, unit_time=unit_s, cost=e, knob=k)
            for k, (t, e) in enumerate(zip(seconds.tolist(), joules.tolist(), strict=True))
        ]
    )
    return operation.OperationSpec(options=options, cost_model=models.ExponentialModel(options))
