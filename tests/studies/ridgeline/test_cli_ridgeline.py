"""`planner ridgeline`: files, flags, bad input and what it prints."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, refused
from support.cases import each

import planner as api
from planner.report.tables.ridgeline import ridgeline_view
from planner.report.tables.tables import text_of
from planner.studies.ridgeline import plane
from planner.studies.ridgeline.asking import ridgeline
from planner.studies.ridgeline.question import question_of

XEON = ("ridgeline", "--hardware", "xeon-clx-socket")
HEADER = "name,flop,memory_bytes,network_bytes,measured_s\n"


def csv(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "points.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_measured_points_beside_their_bound(tmp_path: Path) -> None:
    rows = "slow,4.2e12,1e9,1e9,2\nfast,4.2e12,1e9,1e9,0.5\nblank,1e9,1.05e11,1,\n"
    found = planner(*XEON, "--csv", csv(tmp_path, HEADER + rows), "--json").document
    slow, fast, blank = found["points"]
    assert slow["projected_time_s"] == 1.0
    assert slow["bound_share"] == 0.5
    assert slow["measured_time_s"] == 2
    assert fast["bound_share"] == 2.0
    assert blank["measured_time_s"] is None
    assert blank["region"] == "memory"
    assert any("faster than" in note and "fast" in note for note in found["notes"])


def test_points_with_no_bytes_over_the_network(tmp_path: Path) -> None:
    rows = "a,1e9,1e6,0,\nb,0,1e6,0,\n"
    found = planner(*XEON, "--csv", csv(tmp_path, HEADER + rows), "--json").document
    assert found["degenerate"]
    assert [point["region"] for point in found["points"]] == ["compute", "memory"]
    assert found["points"][1]["energy_per_flop_j"] is None


def test_a_plane_without_a_network_is_printed_as_a_roofline(tmp_path: Path) -> None:
    path = csv(tmp_path, HEADER + "a,1e9,1e6,0,\nb,0,1e6,0,\n")
    flags = ("ridgeline", "--hardware", "dgx-h100-ndr", "--csv", path)
    text, document = planner(*flags).out, planner(*flags, "--json").document
    assert "Roofline at peak rates" in text
    assert not any(word in text for word in ("nvlink", "leaf", "diagonal", "Points count"))
    assert document["level"] is None
    assert document["knee"] == {"x": None, "y": pytest.approx(295.2, rel=1e-3)}
    sends = csv(tmp_path, HEADER + "a,1e9,1e6,1e3,\n")
    other = planner("ridgeline", "--hardware", "dgx-h100-ndr", "--csv", sends, "--json").document
    assert other["level"] == "leaf"
    assert other["knee"]["x"] > 0


def test_rows_of_one_name_are_distinguished(tmp_path: Path) -> None:
    rows = "gemm,1e9,1e6,0,\nother,1e9,2e6,0,\ngemm,1e9,3e6,0,\n,1e9,3e6,0,\n"
    found = planner(*XEON, "--csv", csv(tmp_path, HEADER + rows), "--json").document
    names = [point["name"] for point in found["points"]]
    assert names == ["gemm (line 2)", "other", "gemm (line 4)", "line 5"]


def test_points_as_far_apart_as_they_may_be(tmp_path: Path) -> None:
    """They are drawn, and their numbers stay short."""
    rows = "huge,1e24,1e-12,1e24,1\ntiny,1e-12,1e24,1e-12,1e-12\n"
    path, plot = csv(tmp_path, HEADER + rows), tmp_path / "far.svg"
    outcome = planner(*XEON, "--csv", path, "--plot", plot)
    assert outcome.code == 0
    assert plot.stat().st_size > 0
    assert all(len(word) < 24 for word in outcome.out.split())
    assert planner(*XEON, "--csv", path, "--json").code == 0


@each(
    ("text", "said"),
    [
        ("", "is empty"),
        (HEADER, "has no rows below its header"),
        ("name,flop,memory_bytes\na,1,1\n", "line 1: column 'network_bytes' is missing"),
        (
            "name,flops,memory_bytes,network_bytes\na,1,1,1\n",
            "'flop' is missing; did you mean 'flops'?",
        ),
        ("a;b;c;d\n1;2;3;4\n", "separated by semicolons"),
        ("x,y\n1,2\n", "no CSV file of points of a ridgeline"),
        (HEADER + "a,-1,1,1,\n", "line 2: flop: '-1': must be 0, or from 1e-12 to 1e24"),
        (HEADER + "a,1,nan,1,\n", "line 2: memory_bytes: 'nan': must be finite"),
        (HEADER + "ok,1,1,1,\na,1,1,inf,\n", "line 3: network_bytes: 'inf': must be finite"),
        (HEADER + "a,1e400,1,1,\n", "line 2: flop: '1e400': must be finite"),
        (HEADER + "a,many,1,1,\n", "line 2: flop: 'many' is not a number"),
        (HEADER + "a,,1,1,\n", "line 2: flop: is empty"),
        (HEADER + "a,0,0,0,\n", "all 0: there is no work"),
        (HEADER + "a,1,1,1,0\n", "line 2: measured_s is 0"),
        (HEADER + "a,1,1,1,-3\n", "line 2: measured_s: '-3'"),
        (HEADER + "a,1,1\n", "line 2: has 3 cells; the header has 5"),
    ],
)
def test_bad_files(text: str, said: str, tmp_path: Path) -> None:
    lines = refused(*XEON, "--csv", csv(tmp_path, text))
    assert len(lines) == 1, lines
    assert said in lines[0]
    assert "points.csv" in lines[0]


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    lines = refused(*XEON, "--csv", csv(tmp_path, HEADER + "a,-1,x,1,\n" * 30))
    assert len(lines) == 11
    assert lines[-1].endswith("and 50 more mistakes")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--case", "mlp-4069"), "did you mean 'mlp-4096'?"),
        (("--level", "netwrk"), "did you mean 'network'?"),
        (("--level", ""), "level: '' is not one of network, all"),
        (("--level", "0GB/s"), "at least 1 B/s"),
        (("--level", "12Gb/s"), "counts bits"),
        (("--precision", "bf16"), "xeon-clx-socket has no bf16 rate; it has fp32"),
        (("--case", "mlp-4096", "--csv", "x.csv"), "--case and --csv each say what the points are"),
        (("--batches", "4"), "batches: has no effect without --case or --workload or --model"),
        (("--sweep", "tp"), "sweep: has no effect without --plan"),
        (("--case", "mlp-4096", "--batches", "64..16"), "write it from 16 to 64"),
        (("--case", "mlp-4096", "--batches", "0"), "batches: 0: must be at least 1"),
        (("--case", "mlp-4096", "--counting", "gem"), "did you mean 'gemm'?"),
        (("--gemm", "4x4"), "not M x K x N"),
        (("--workload", "fffn"), "did you mean 'ffn'?"),
        (("--figure", "6b"), "figure: has no effect without --plot"),
        (("--case", "mlp-4096", "--plot", "a.svg", "--figure", "7"), "figure: '7' is not one of"),
        (("--plot", "a.pdf"), "pictures are written as .svg, .png or .html"),
        (("--gemm", "4x4x4", "--plot", "a.svg", "--figure", "6b"), "needs several steps"),
        (
            ("--gemm", "4x4x4", "--chips", "1", "--plot", "a.svg", "--figure", "6a"),
            "ask for roofline",
        ),
    ],
)
def test_bad_flags(
    flags: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = refused(*XEON, *flags)
    assert len(lines) == 1
    assert said in lines[0]
    assert not list(tmp_path.iterdir())


def test_degrees_of_experts_divide_them() -> None:
    flags = ("ridgeline", "--hardware", "gb200-nvl72", "--model", "mixtral-8x7b", "--chips", 8)
    assert refused(*flags, "--ep", 3)[0].startswith("ep: ep 3 must divide the 8 experts")


def test_a_figure_that_is_unknown_is_named_without_a_file_too() -> None:
    lines = refused(*XEON, "--figure", "9z,6b")
    assert len(lines) == 2
    assert "figure: '9z' is not one of" in lines[0]
    assert "figure: has no effect without --plot" in lines[1]


def test_the_same_question_from_python() -> None:
    found = api.ridgelines(hardware="xeon-clx-socket", case="mlp-4096", batches=[256, 512])
    printed = planner(*XEON, "--case", "mlp-4096", "--batches", "256,512", "--json").document
    assert found.to_dict()["points"] == printed["points"]
    with pytest.raises(api.InputError, match="did you mean 'batches'"):
        api.ridgelines(case="mlp-4096", batch=512)
    with pytest.raises(api.InputError, match=r"nothing\.csv"):
        api.ridgelines(csv="nothing.csv")


def test_a_machine_alone_has_a_knee_per_level() -> None:
    found = planner("ridgeline", "--hardware", "gb200-nvl72", "--json").document
    assert found["points"] == []
    assert found["knee"]["x"] == pytest.approx(8e12 / 900e9)
    assert [one["level"] for one in found["ridgelines"]] == ["nvlink", "leaf", "spine", "core"]
    assert found["ridgelines"][1]["knee"]["x"] == pytest.approx(160)


def test_which_level_binds_a_layer() -> None:
    flags = ("--hardware", "h100-sxm5-80", "--model", "llama3-8b", "--chips", 16, "--tp", 8)
    found = planner("ridgeline", *flags, "--batches", "1,2", "--json").document
    layers = {p["batch"]: p for p in found["points"] if p["series"] == "layer"}
    assert layers[1]["level"] == "leaf"
    assert layers[2]["level"] == "nvlink"
    for point in layers.values():
        times = {one["level"]: one["network_time_s"] for one in point["levels"]}
        assert point["network_time_s"] == max(times.values()) == times[point["level"]]


def test_several_products_have_their_sum() -> None:
    found = planner(*XEON, "--gemm", "64x64x64,128x64x64", "--json").document["points"]
    assert [point["name"] for point in found] == ["64 x 64 x 64", "128 x 64 x 64", "all"]
    for key in ("flop", "memory_bytes", "network_bytes"):
        assert found[2][key] == found[0][key] + found[1][key]


@each(
    "flags",
    [
        {"case": "mlp-4096"},
        {"hardware": "gb200-nvl72"},
        {"hardware": "h100-sxm5-80", "model": "llama3-8b", "chips": "16", "tp": "8"},
        {"hardware": "h100-sxm5-80", "workload": "ffn"},
    ],
)
def test_no_line_is_wider_than_80_columns_and_no_number_is_cut(flags: dict[str, str]) -> None:
    result = ridgeline(question_of(flags))
    narrow, wide = (text_of(ridgeline_view(result), width) for width in (80, 200))
    assert max(map(len, narrow.splitlines())) <= 80
    assert "…" not in narrow
    for row in range(len(result.counts)):
        assert f"{result.placed.bound_s[row] * 1e3:.4g}"[:4] in narrow or "us" in narrow
    assert set(narrow.split()) >= {word for word in wide.split() if word[:1].isdigit()}


def test_thousands_of_points_are_placed_once_and_the_first_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed of all points is not computed anew for each of them."""
    placed = Counter[str]()

    def counted(*given: Any) -> Any:
        placed["times"] += 1
        return real(*given)

    real = plane._placed
    monkeypatch.setattr(plane, "_placed", counted)
    path = tmp_path / "points.csv"
    rows = [f"p{at},1e12,1e9,1e6" for at in range(500)]
    path.write_text("\n".join(["name,flop,memory_bytes,network_bytes", *rows]) + "\n")
    found = planner("ridgeline", "--hardware", "h100-sxm5-80", "--csv", path, "--json")
    assert len(found.document["points"]) == 500
    assert placed["times"] < 20
    shown = planner("ridgeline", "--hardware", "h100-sxm5-80", "--csv", path).out
    assert "The first 200 points; --json has the 300 others too." in shown
    assert "p199 " in shown
    assert "p200 " not in shown
