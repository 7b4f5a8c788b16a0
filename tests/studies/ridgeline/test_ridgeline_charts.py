"""Pictures of ridgelines as data, before they are drawn."""

import math
from pathlib import Path

import pytest
from cli.command import planner
from support.cases import each

from planner.base.units import show_seconds
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.report.charts.ridgeline import ridgeline_picture
from planner.report.charts.ridgeline_figures import OF_ANSWERS, OF_THE_PAPER
from planner.report.charts.ridgeline_labels import TONES, LabelSpace
from planner.report.drawing.chart import Area, Chart, Dot, Line, Words
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import labels_of
from planner.studies.ridgeline.answer import RidgelineResult
from planner.studies.ridgeline.asking import ridgeline
from planner.studies.ridgeline.of_plan import plan_ridgeline
from planner.studies.ridgeline.question import question_of


@pytest.fixture(scope="module")
def paper() -> RidgelineResult:
    return ridgeline(question_of({"case": "mlp-4096"}))


def charts_of(result: RidgelineResult, *figures: str) -> dict[str, Chart]:
    return {chart.title: chart for chart in ridgeline_picture(result, figures).charts}


def test_one_chart_per_figure_of_the_paper(paper: RidgelineResult) -> None:
    for figure in OF_THE_PAPER.values():
        assert len(charts_of(paper, figure)) == 1
    assert len(charts_of(paper)) == len(OF_ANSWERS)


def test_the_regions_meet_at_the_knee(paper: RidgelineResult) -> None:
    plane = charts_of(paper)["Ridgeline of network: 12 GB/s"]
    areas = [mark for mark in plane.marks if isinstance(mark, Area)]
    assert {area.detail for area in areas} == {"network", "memory", "compute"}
    assert all((8.75, 40.0) in area.corners for area in areas)
    assert plane.x.low < 8.75 < plane.x.high
    assert plane.y.low < 40 < plane.y.high


def test_points_on_the_plane(paper: RidgelineResult) -> None:
    plane = charts_of(paper)["Ridgeline of network: 12 GB/s"]
    dots = {mark.words: mark for mark in plane.marks if isinstance(mark, Dot)}
    assert len(dots) == 11
    assert [name for name, dot in dots.items() if dot.strong] == ["512"]
    assert (dots["512"].x, dots["512"].y) == (0.625, 614.4)
    assert all(plane.x.low < dot.x < plane.x.high for dot in dots.values())
    assert all(plane.y.low < dot.y < plane.y.high for dot in dots.values())
    arrows = [mark for mark in plane.marks if isinstance(mark, Line) and mark.arrow]
    assert len(arrows) == 10


def test_contours_have_equal_flop_per_s(paper: RidgelineResult) -> None:
    plane = charts_of(paper)["Ridgeline of network: 12 GB/s"]
    contours = [mark for mark in plane.marks if isinstance(mark, Line) and mark.dashed]
    assert contours
    ridge = paper.ridges[0]
    for contour in contours:
        rates = [
            min(ridge.flop_per_s, y * ridge.memory_bytes_per_s, x * y * ridge.network_bytes_per_s)
            for x, y in contour.points
        ]
        assert all(math.isclose(rate, rates[0]) for rate in rates)


def test_every_network_bound_point_has_a_contour_below_it(paper: RidgelineResult) -> None:
    """Batches 16 and 32 run at 144 and 288 GFLOP/s, below every contour that is level."""
    plane = charts_of(paper)["Ridgeline of network: 12 GB/s"]
    lines = [mark for mark in plane.marks if isinstance(mark, Line) and mark.dashed]
    named = {mark.words for mark in plane.marks if isinstance(mark, Words)}
    assert {line.detail for line in lines} < named
    assert {"1.26 TFLOP/s", "126 GFLOP/s"} < named
    ridge = paper.ridges[0]
    rates = [ridge.flop_per_s * ridge.share(*line.points[0]) for line in lines]
    for batch, achieved in zip(paper.steps, paper.achieved_flop_per_s, strict=True):
        assert any(achieved / 4 < rate <= achieved for rate in rates), batch
    box = (plane.x.low, plane.x.high, plane.y.low, plane.y.high)
    for line in lines:
        assert all(box[0] <= x <= box[1] and box[2] <= y <= box[3] for x, y in line.points)


def test_contours_on_a_plane_of_many_powers_of_ten(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    rows = "a,1e12,1e9,1e13\nb,1e9,1e12,1e9\nc,1e15,1e9,1e4\n"
    path.write_text(f"name,flop,memory_bytes,network_bytes\n{rows}", encoding="utf-8")
    asked = {"hardware": "h100-sxm5-80", "level": "leaf", "csv": path}
    (plane,) = charts_of(ridgeline(question_of(asked)), "ridgeline").values()
    lines = [mark for mark in plane.marks if isinstance(mark, Line) and mark.dashed]
    assert 4 <= len(lines) <= 8
    heights = [line.points[0][1] for line in lines]
    assert min(heights) < 1e3 < max(heights)  # around point a


def test_each_plane_speaks_of_its_own_level() -> None:
    """All four points compute on the plane of NVLink, two of them are held back by the leaf."""
    fields = {"model": "llama2-13b", "hardware": "h100-sxm5-80", "chips": 64,
              "batch_tokens": 2**20, "seq_len": 4096}  # fmt: skip
    plan = Plan(fsdp=64, micro_batch=1, sharding="zero3")
    result = plan_ridgeline(resolve(request_from(fields)).cost, plan, sweep="tp")
    inner, outer = ridgeline_picture(result, ["ridgeline"]).charts
    assert inner.description.endswith(" 4 points: 4 compute-bound.")
    assert outer.description.endswith(" 4 points: 2 compute-bound and 2 network-bound.")
    for plane, level in ((inner, "nvlink"), (outer, "leaf")):
        dots = [mark for mark in plane.marks if isinstance(mark, Dot)]
        shapes = {"circle": "compute", "square": "memory", "diamond": "network"}
        drawn = [shapes[dot.shape] for dot in dots]
        assert drawn == [row[1] for row in plane.rows]
        assert all(f": {region}-bound, " in d.detail for region, d in zip(drawn, dots, strict=True))
        index = [ridge.level for ridge in result.ridges].index(level)
        for row, dot in enumerate(dots):
            seconds = show_seconds(float(result.placed.network_s[row, index]))
            assert dot.detail.endswith(f", {level} {seconds}")


def test_the_roof_and_what_the_network_leaves(paper: RidgelineResult) -> None:
    roof = charts_of(paper)["Roofline"]
    below = [mark for mark in roof.marks if isinstance(mark, Dot) and mark.shape == "diamond"]
    assert len(below) == 5  # 16 to 256
    at_roof = {mark.words: mark for mark in roof.marks if isinstance(mark, Dot) and mark.words}
    assert at_roof["16"].shape == "square"
    assert at_roof["32"].shape == "circle"
    assert at_roof["32"].y == 4.2e12


def test_the_arch_of_energy(paper: RidgelineResult) -> None:
    chart = charts_of(paper)["Roofline of energy"]
    arch = next(mark for mark in chart.marks if isinstance(mark, Line) and mark.bold)
    heights = [y for _, y in arch.points]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] > paper.energy.flop_j * 1e12
    assert "Assumed" in chart.notes[0]


def test_levels_that_look_the_same_share_a_plane() -> None:
    result = ridgeline(question_of({"hardware": "gb200-nvl72"}))
    planes = [chart.title for chart in ridgeline_picture(result).charts if "Ridge" in chart.title]
    assert planes == ["Ridgeline of nvlink: 900 GB/s", "Ridgeline of leaf, spine and core: 50 GB/s"]


def test_every_chart_says_what_it_shows(paper: RidgelineResult) -> None:
    layer = ridgeline(
        question_of({"hardware": "h100-sxm5-80", "model": "llama3-8b", "chips": "16", "tp": "8"})
    )
    for result in (paper, layer):
        for chart in ridgeline_picture(result).charts:
            assert chart.description
            assert chart.rows
            assert all(len(row) == len(chart.header) for row in chart.rows)
            for mark in chart.marks:
                if isinstance(mark, Dot):
                    assert 0 < mark.x < math.inf
                    assert 0 < mark.y < math.inf


@each("ending", ["svg", "html"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mlp.{ending}"
    flags = ("--case", "mlp-4096", "--figure", "4a,4b,4c,6a,6b", "--plot", path)
    assert planner("ridgeline", *flags).code == 0
    text = path.read_text(encoding="utf-8")
    assert "12.27 ms" in text
    assert "Roofline of energy" not in text


def test_png(tmp_path: Path) -> None:
    path = tmp_path / "mlp.png"
    assert planner("ridgeline", "--case", "mlp-4096", "--plot", path).code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_every_batch_of_the_paper_has_a_name_on_the_rooflines(paper: RidgelineResult) -> None:
    charts = charts_of(paper)
    for title in ("Roofline", "Roofline of energy"):
        words = [dot.words for _, dot in labels_of(charts[title], frame_of(charts[title], 560))]
        assert sorted(words) == sorted(
            mark.words for mark in charts[title].marks if isinstance(mark, Dot) and mark.words
        )
        assert any(word.endswith("to 16,384") for word in words)
        assert not any("without a name" in note for note in charts[title].notes)


def test_legends_and_notes_name_what_is_there(paper: RidgelineResult) -> None:
    plane = charts_of(paper)["Ridgeline of network: 12 GB/s"]
    keys = ["compute-bound", "network-bound", "equal FLOP/s"]
    assert [key.words for key in plane.legend] == keys
    assert plane.notes[0].startswith("Ringed")
    assert plane.description.endswith("11 points: 6 compute-bound and 5 network-bound.")
    far = ridgeline(question_of({"case": "mlp-4096", "batches": ["16384"]}))
    plane = charts_of(far)["Ridgeline of network: 12 GB/s"]
    assert not plane.notes
    assert [key.words for key in plane.legend] == ["compute-bound", "equal FLOP/s"]
    assert plane.description.endswith(" 1 point: 1 compute-bound.")


def test_series_have_looks_of_their_own_and_one_without_flop_a_note() -> None:
    layer = ridgeline(question_of({"model": "llama2-7b", "hardware": "dgx-h100-ndr",
                                   "batches": ["1", "4"]}))  # fmt: skip
    charts = charts_of(layer)
    intensity = charts["FLOP per memory byte"]
    balance, *keys = intensity.legend
    assert balance.kind == "line"
    assert [key.words for key in keys] == ["attention", "mlp", "layer"]
    assert len({(key.tone, key.shape) for key in keys}) == 3
    assert not {key.tone for key in keys} & {*TONES.values(), "purple", "red"}
    assert {mark.tone for mark in intensity.marks if isinstance(mark, Dot)} == {
        key.tone for key in keys
    }
    assert [note.partition(":")[0] for note in intensity.notes] == ["element-wise"]
    for title in ("Roofline", "Roofline of energy"):
        assert not any("without a name" in note for note in charts[title].notes)


def test_levels_have_looks_of_their_own() -> None:
    model = resolve(
        request_from({"model": "llama2-13b", "hardware": "h100-sxm5-80"}), chips=64
    ).cost
    plan = Plan(dp=2, fsdp=8, tp=4, micro_batch=1, sharding="zero3")
    result = plan_ridgeline(model, plan, sweep="tp")
    keys = {key.words: key for key in charts_of(result)["Times of each resource"].legend}
    assert keys["compute"].tone == TONES["compute"]
    levels = [key for words, key in keys.items() if words.startswith("network: ")]
    assert len(levels) >= 2
    assert len({(key.tone, key.shape) for key in levels}) == len(levels)
    assert not {key.tone for key in levels} & {"purple", TONES["compute"], TONES["memory"]}
    assert "(dp 2 x fsdp 8 x tp 4)" in result.title


def test_words_keep_clear_of_points() -> None:
    """A point at the right end of the roof moves the words of its contour."""
    space = LabelSpace(across=(1, 1000), up=(1, 1000), points=((900.0, 310.0),))
    assert space.first([(950, 300), (100, 300)], "end") == (100, 300)
    assert space.first([(950, 30), (100, 30)], "end") == (950, 30)
