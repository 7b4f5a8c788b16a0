"""The picture of the front of `planner rack solve`."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from planner.rack.answer import RackAnswer
from planner.rack.joint import joint_problem
from planner.rack.joint_search import Search
from planner.rack.joint_solve import solve_rack
from planner.rack.solve_request import rack_request

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.picture

CROWDED = {"workload": "fc", "strategy": "dp,zero,tp"}


def answer_to(**given: str) -> RackAnswer:
    """The answer to flags."""
    request = rack_request(**given)
    return solve_rack(request.question, request.objective)


def labels_of(figure: Any) -> list[Any]:
    """The labels of points, after drawing."""
    figure.canvas.draw()
    return list(figure.texts)


def crowded(gpus: str) -> RackAnswer:
    """An answer with the whole front of many plans, listed rather than proved."""
    question = rack_request(**CROWDED, gpus=gpus).question
    front = sorted(Search(joint_problem(question)).listed(), key=lambda point: point.latency_s)
    best = min(front, key=lambda point: point.edp_js)
    one = answer_to(workload="fc", gpus="1", pes="16")
    return replace(one, question=question, objective="edp", front=tuple(front), best=best)


@pytest.mark.parametrize("gpus", ["2-12", "2-24", "2-64"])
def test_labels_cover_no_label_no_point_and_no_legend(gpus: str) -> None:
    from planner.report.rack_solve_picture import front_figure  # noqa: PLC0415

    answer = crowded(gpus)
    assert len(answer.front) >= 10
    figure = front_figure(answer)
    labels = labels_of(figure)
    boxes = [label.get_window_extent() for label in labels]
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    (panel,) = figure.axes
    legend = panel.get_legend().get_window_extent()
    assert not any(box.overlaps(legend) for box in boxes)
    for point in answer.front:
        x, y = panel.transData.transform((point.latency_s, point.energy_j))
        assert not any(box.contains(x, y) for box in boxes)
    bold = [label.get_text() for label in labels if label.get_weight() == "bold"]
    assert answer.best is not None
    assert len(bold) == 1
    assert bold[0].startswith(f"{answer.best.chips} x {answer.best.pes}")
    assert len(labels) >= 8


def test_a_wide_range_is_logarithmic_with_units() -> None:
    from planner.report.rack_solve_picture import front_figure  # noqa: PLC0415

    answer = answer_to(workload="conv", strategy="dp", gpus="1,2,4,24", pes="16")
    times = [point.latency_s for point in answer.front]
    assert times[-1] > 12 * times[0]
    (panel,) = front_figure(answer).axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    shown = [text.get_text() for text in panel.get_xticklabels()]
    assert sum(text.endswith("us") for text in shown) >= 3


def test_one_chip_has_no_mesh_in_its_label() -> None:
    from planner.report.rack_solve_picture import front_figure  # noqa: PLC0415

    (label,) = labels_of(front_figure(answer_to(workload="fc", gpus="1", pes="16")))
    assert label.get_text() == "1 x 16"
