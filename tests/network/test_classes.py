"""Groups costed together cost what each kind costs alone."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import random_chips, random_cost_model

from planner.network.classes import group_classes
from planner.network.collectives import group_costs
from planner.network.groups import Segment


def random_groups(rng: np.random.Generator, chips: int, parts: int) -> list[Segment]:
    """Segments of 40 groups, of powers of two that multiply to no more than the chips."""
    most = int(np.log2(chips))
    cuts = np.sort(rng.integers(0, most + 1, (2 * parts, 40)), axis=0)
    return [(2 ** (cuts[at + 1] - cuts[at]), 2 ** cuts[at]) for at in range(0, 2 * parts, 2)]


def test_kinds_together_cost_what_each_costs_alone() -> None:
    groups = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = random_cost_model(seed)
        chips = random_chips(model, seed)
        fabrics = [model.fabric(chips), model.fabric(model.cluster.chip_counts(chips)[0])]
        on = rng.integers(0, 2, 40)
        named = {str(parts): random_groups(rng, chips, parts) for parts in (1, 3, 2)}
        for name, (classes, costs) in group_classes(fabrics, on, named, {}).items():
            for at, fabric in enumerate(fabrics):
                rows = np.flatnonzero(on == at)
                alone = group_costs(fabric, [(s[rows], t[rows]) for s, t in named[name]])
                found = costs.features[:, classes[rows]]
                assert np.array_equal(found, alone.features, equal_nan=True)
                groups += len(rows)
    assert groups == 20 * 3 * 40


def test_costs_that_questions_share_are_of_one_network_and_stay_as_they_are() -> None:
    model = random_cost_model(3)
    chips = random_chips(model, 3)
    named = {"all": random_groups(np.random.default_rng(3), chips, 2)}
    rates = {}
    for slower in (1.0, 2.0, 1.0):
        changed = replace(model.assumptions, scale_up_latency_s=1e-6 * slower)
        fabric = replace(model, assumptions=changed).fabric(chips)
        costs = group_classes([fabric], np.zeros(40, dtype=np.int64), named, {})["all"][1]
        known = rates.setdefault(slower, costs.features.copy())
        np.testing.assert_array_equal(costs.features, known)
        with pytest.raises(ValueError, match="read-only"):
            costs.features[2] = 0.0
    assert (rates[1.0] != rates[2.0]).any()
