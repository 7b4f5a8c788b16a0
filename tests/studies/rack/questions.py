"""Random joint questions on small racks."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from hardware_db import load_cluster
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.machine import Link, Machine, machine_of
from planner.studies.rack.model.workloads import (
    Workload,
    attention,
    convolution,
    feed_forward,
    fully_connected,
)
from planner.studies.rack.solve.question import BUDGETS, STRATEGIES, RackQuestion
from studies.rack.brute_force import Everything, everything

_TOPOLOGIES = ("linear", "ring", "fully-connected", "mesh", "torus", "hypercube", "star", "switch")


def random_workload(random: Random) -> Workload:
    """Small, of any kind, with a number of items in all."""
    kind = random.choice(("fc", "conv", "ffn", "attention"))
    if kind == "fc":
        made = fully_connected(random.choice((16, 96, 200)), random.choice((16, 80, 144)))
    elif kind == "conv":
        made = convolution(random.choice((3, 16)), random.choice((8, 32)), 3, 14)
    elif kind == "ffn":
        made = feed_forward(64, 32, random.choice((64, 112)))
    else:
        made = attention(4, 32, 64, 8, random.choice((2, 8)))
    return replace(made, batch=random.choice((4, 7, 12, 24, 48)))


def random_machine(random: Random) -> Machine:
    """Chips of 4 x 4 PEs with links of any speed; now and then in racks of four."""
    topologies = random.sample(_TOPOLOGIES, random.randint(1, 4))
    speed = 10 ** random.uniform(8.5, 11.5)
    inner = Link(
        bytes_per_s=speed,
        j_per_byte=10 ** random.uniform(-12, -9),
        latency_s=random.choice((0, 1e-7)),
    )
    machine = machine_of(load_cluster("report1-rack"))
    machine = replace(machine, inner=inner, topologies=tuple(topologies))
    if random.random() < 0.3:
        outer = Link(bytes_per_s=speed / 10, j_per_byte=1e-9)
        machine = replace(machine, outer=outer, rack_chips=4)
    return machine


def random_assumptions(random: Random) -> RackAssumptions:
    """Any reading."""
    return RackAssumptions(
        basis=random.choice(("per_gpu", "network", "per_link")),
        hides_fetch=random.random() < 0.7,
        hides_collectives=random.random() < 0.3,
        ring_hops=random.random() < 0.7,
        tensor_split=random.choice(("columns", "megatron")),
        backward=random.random() < 0.5,
        latencies=random.random() < 0.5,
        static_power=random.random() < 0.4,
    )


def random_question(seed: int) -> RackQuestion:
    """A question of which some plan exists without its budgets."""
    return question_and_plans(seed)[0]


def question_and_plans(seed: int) -> tuple[RackQuestion, Everything]:
    """`random_question`, and every plan of it."""
    random = Random(seed)
    while True:
        question = RackQuestion(
            workload=random_workload(random),
            machine=random_machine(random),
            assumptions=random_assumptions(random),
            chips=tuple(sorted(random.sample(range(1, 13), random.randint(1, 8)))),
            pes=tuple(sorted(random.sample((4, 8, 12, 16, 32, 64), random.randint(1, 4)))),
            strategies=tuple(random.sample(STRATEGIES, random.randint(1, 4))),
            micro_batches=random.choice((1, 4, 16)),
            budgets={},
        )
        found = everything(question)
        if found is not None:
            break
    budgets = {}
    for name in random.sample(list(BUDGETS), random.randint(0, 3)):
        share = random.choice((0.05, 0.2, 0.4, 0.6, 0.9))
        budgets[name] = float(np.quantile(found.uses[name], share, method="nearest"))
        if random.random() < 0.1:
            budgets[name] = float(found.uses[name].min()) * 0.9
    return replace(question, budgets=budgets), found.within(budgets)
