"""Several spaces in one search."""

from collections import Counter

from support.jobs import cost_model, dense_model

from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
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
