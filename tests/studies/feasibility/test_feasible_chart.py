"""What the pictures of `planner feasible` show."""

from pathlib import Path

import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.report.charts.feasible import PANELS, check_panels, feasible_picture
from planner.report.drawing.chart import Chart, Dot, Line, Picture, Words
from planner.report.drawing.geometry.chart_frame import SMALL, frame_of
from planner.report.drawing.geometry.lettering import width_of
from planner.report.drawing.svg import SIDE_BY_SIDE, WIDTH, picture_svg
from planner.studies.feasibility.pictured import Pictured, pictured

NAMES = ["FSDP or DP", "TP", "FSDP + TP"]


@pytest.fixture(scope="module")
def chapter() -> Pictured:
    """The pictures of the chapter: 4x4x4 and 16x16x16."""
    return pictured(["llama3-70b"], {}, Origin())


@pytest.fixture(scope="module")
def picture(chapter: Pictured) -> Picture:
    return feasible_picture(chapter)


@pytest.fixture(scope="module")
def switched() -> Pictured:
    """Whole meshes alone."""
    return pictured(["llama2-13b"], {"hardware": "h100-sxm5-80", "chips": "64"}, Origin())


def curves(chart: Chart) -> dict[str, Line]:
    """The lines by their names."""
    return {mark.detail: mark for mark in chart.marks if isinstance(mark, Line)}


def strong(chart: Chart) -> Dot:
    """The one dot to look at."""
    (found,) = (mark for mark in chart.marks if isinstance(mark, Dot) and mark.strong)
    return found


def test_titles_are_plain_and_symbols_are_below(picture: Picture) -> None:
    assert picture.title == "llama3-70b on tpu-v5p: does communication hide behind computing?"
    titles = [chart.title for chart in picture.charts]
    assert titles[:2] == [
        "Computing time over communication time, 4x4x4",
        "Time per layer and forward pass, 16x16x16",
    ]
    assert titles[2].startswith("FSDP against TP on 16x16x16 at ")
    for chart in picture.charts:
        assert "F = 28,672, C = 459 TFLOP/s, M_X = 2, M_Y = 1" in chart.subtitle
        assert "T_" in chart.subtitle
        assert "T_" not in chart.title + chart.x.label + chart.y.label


def test_the_curves_are_those_of_the_machine(picture: Picture, chapter: Pictured) -> None:
    ratio, time, _ = picture.charts
    drawn = curves(ratio)
    batches = chapter.ratio.batches()
    math_s = chapter.ratio.math_s(batches)
    parts = (chapter.ratio.fsdp_s, chapter.ratio.tp_s, chapter.ratio.mixed_s)
    for name, communication_s in zip(NAMES, parts, strict=True):
        x, y = np.array(drawn[name].points).T
        assert x.tolist() == batches.tolist()
        assert y == pytest.approx(math_s / communication_s(batches))
    level = drawn["compute-bound above"]
    assert level.dashed
    assert {y for _, y in level.points} == {1.0}
    batches = chapter.time.batches()
    drawn = curves(time)
    assert list(drawn) == [*NAMES, "computing"]
    assert np.array(drawn["computing"].points)[:, 1] == pytest.approx(chapter.time.math_s(batches))
    assert np.array(drawn["FSDP + TP"].points)[:, 1] == pytest.approx(chapter.time.mixed_s(batches))


def test_the_crossing_is_marked_with_its_batch(picture: Picture, chapter: Pictured) -> None:
    ratio, time, _ = picture.charts
    crossing = chapter.ratio.crossing()
    assert (strong(ratio).x, strong(ratio).y) == (crossing, 1.0)
    assert strong(ratio).words == f"{round(crossing):,} tokens ({crossing / 64:.0f} per chip)"
    at = np.array([chapter.time.crossing()])
    assert (strong(time).x, strong(time).y) == (at[0], chapter.time.math_s(at)[0])
    assert strong(time).y == pytest.approx(chapter.time.mixed_s(at)[0])
    assert f"{round(crossing):,} tokens" in ratio.description


def test_the_split_has_its_parts_its_meshes_and_its_least(
    picture: Picture, chapter: Pictured
) -> None:
    split = picture.charts[2]
    x, total = np.array(curves(split)["total"].points).T
    parts = chapter.split.split_s(np.asarray(chapter.split_batch), x)
    flop_s = chapter.split.math_s(np.array([chapter.split_batch]))[0]
    assert total == pytest.approx(np.maximum(parts.max(axis=0), flop_s))
    assert curves(split)["total"].bold
    whole, _ = chapter.split.whole_splits(chapter.split_batch)
    meshes = [mark for mark in split.marks if isinstance(mark, Dot) and mark.shape == "circle"]
    assert [dot.x for dot in meshes] == whole.tolist()
    assert len(meshes) > 8
    least = strong(split)
    assert (least.x, least.y) == chapter.split.least_split(chapter.split_batch)
    assert least.shape == "diamond"
    assert least.words in split.description
    assert split.x.ticks[:3] == ((1.0, "1"), (2.0, "2"), (4.0, "4"))


@each("panels", [PANELS, ("ratio",), ("time",), ("split",)])
def test_names_stand_behind_their_lines_inside_of_the_axes(
    panels: tuple[str, ...], chapter: Pictured, switched: Pictured
) -> None:
    width = SIDE_BY_SIDE if len(panels) > 1 else WIDTH
    for drawn in (chapter, switched):
        for chart in feasible_picture(drawn, panels).charts:
            frame = frame_of(chart, width)
            end = max(x for line in curves(chart).values() for x, _ in line.points)
            names = [mark for mark in chart.marks if isinstance(mark, Words) and mark.x > end]
            assert [mark.words for mark in names] == [
                name for name in curves(chart) if name != "compute-bound above"
            ]
            for mark in names:
                x, _ = frame.at((mark.x, mark.y))
                assert x + width_of(mark.words, SMALL) <= frame.area.right + 8
            heights = sorted(frame.at((mark.x, mark.y))[1] for mark in names)
            assert min(np.diff(heights)) >= 11


def test_the_table_has_the_curves(picture: Picture) -> None:
    for chart in picture.charts:
        names = [name for name in curves(chart) if name != "compute-bound above"]
        assert list(chart.header[1:]) == names
        assert len(chart.rows) == 13
        assert {len(row) for row in chart.rows} == {len(chart.header)}


def test_a_switched_cluster_has_whole_meshes_alone(switched: Pictured) -> None:
    split = feasible_picture(switched, ["split"]).charts[0]
    x = [x for x, _ in curves(split)["FSDP"].points]
    assert x == switched.split.whole_splits(switched.split_batch)[0].tolist()
    assert split.x.low < x[0]
    assert "M_X" not in split.subtitle


def test_too_few_chips_for_a_split() -> None:
    two = pictured(["llama2-7b"], {"hardware": "h100-sxm5-80", "chips": "2"}, Origin())
    with pytest.raises(InputError, match=r"^picture: 2 chips cannot be split .*--picture ratio,"):
        feasible_picture(two)
    for chart in feasible_picture(two, ["ratio", "time"]).charts:
        assert "FSDP + TP" not in curves(chart)
        assert picture_svg(Picture(title="", charts=(chart,)))


def test_panels_are_found_out_before() -> None:
    assert check_panels(None, None) == ()
    assert check_panels(Path("a.svg"), None) == PANELS
    assert check_panels(Path("a.html"), "split, ratio,split") == ("split", "ratio")
    for plot, picture, words in (
        (None, "ratio", "has no effect without --plot"),
        (Path("a.svg"), "pie", "'pie' is not one of"),
        (Path("a.gif"), None, "pictures are written as"),
    ):
        with pytest.raises(InputError, match=words):
            check_panels(plot, picture)
