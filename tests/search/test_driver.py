"""Several spaces in one search."""

from collections import Counter

import numpy as np
from support.jobs import cost_model, dense_model

from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.rows import LABEL, Incumbent
from planner.search.uniform.engine import UniformSpace


def test_counts_of_a_search_are_those_of_its_parts() -> None:
    model = cost_model(dense_model(4, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=16)
    spaces = [
        UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=(chips,))
        for chips in (4, 8)
    ]
    whole = Driver().run(*spaces)
    sums: dict[str, Counter[str]] = {}
    for part in whole.parts:
        for stage, numbers in part.counts.items():
            sums.setdefault(stage, Counter()).update(numbers)
    assert len(whole.parts) == 2
    assert {stage: dict(numbers) for stage, numbers in sums.items()} == whole.counts
    alone = [Driver().run(space) for space in spaces]
    for name in ("considered", "searched"):
        each = [one.counts["meshes"][name] for one in alone]
        assert whole.counts["meshes"][name] == sum(each) > max(each) > 0


def test_what_an_incumbent_still_wants() -> None:
    """Plans within the limit, then those that are faster than it by more than the gap."""
    incumbent = Incumbent(gap=0.1, longest_s=10.0)
    assert incumbent.hides(np.array([[9.9], [10.0], [10.1], [19.9]])).tolist() == [
        False, False, True, True,
    ]  # fmt: skip
    incumbent.add(np.array([[8.0]]), np.zeros((1, LABEL), dtype=np.intp))
    assert incumbent.hides(np.array([[7.1], [7.3]])).tolist() == [False, True]
