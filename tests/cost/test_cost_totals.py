"""Costs of many plans, with what some share computed once, are those of each plan alone."""

from dataclasses import replace

import numpy as np
from support.jobs import random_chips, random_cost_model

from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.frameworks.profiles import FRAMEWORKS
from planner.question.options import SpaceOptions
from planner.schedules import BUILT_IN, code_of_schedule
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans

JOBS = 80


def test_totals_are_those_of_the_table() -> None:
    options, compared = SpaceOptions(), np.zeros(len(BUILT_IN), dtype=np.int64)
    dealt_twice = 0  # jobs whose plans deal equal chunks to stages in two ways
    for seed in range(JOBS):
        model = random_cost_model(7900 + seed)
        if seed % 2:
            model = replace(model, job=replace(model.job, framework=FRAMEWORKS["torchtitan"]))
        meshes = enumerate_meshes(model, (random_chips(model, seed, most=16),), options)
        plans = cross_choices(model, cross_partial_plans(model, meshes, options), options).plans
        if len(plans) == 0:
            continue
        totals, table = evaluate_totals(model, plans), evaluate_table(model, plans)
        np.testing.assert_array_equal(totals.step_time_s, table.step_time_s)
        np.testing.assert_array_equal(totals.energy_j, table.energy.total)
        np.testing.assert_array_equal(totals.memory_bytes, table.memory_per_chip_bytes)
        np.testing.assert_array_equal(totals.chips, plans.chips)
        compared += np.bincount(plans.schedule, minlength=len(BUILT_IN))
        two = plans.schedule[plans.interleave == 2]
        dealt_twice += {code_of_schedule(n) for n in ("interleaved", "zb-v")} <= set(two.tolist())
    print(f"{JOBS} jobs, {int(compared.sum())} plans")
    assert np.all(compared > 0), "plans of every schedule were compared"
    assert dealt_twice > 0
