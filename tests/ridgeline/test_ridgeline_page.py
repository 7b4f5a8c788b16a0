"""The figures of docs/ridgeline.md are those of the commands beside them."""

import re
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner

PAGE = (Path(__file__).parents[2] / "docs" / "ridgeline.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())


def points(*flags: object) -> list[Any]:
    outcome = planner("ridgeline", *flags, "--json")
    assert outcome.code == 0, outcome.err
    found: list[Any] = outcome.document["points"]
    return found


def said(text: str) -> None:
    assert text in TEXT, text


def test_knees_of_a_tpu() -> None:
    inner, outer = planner("ridgeline", "--hardware", "tpu-v5p", "--json").document["ridgelines"]
    said(f"at x = {inner['knee']['x']:.2f} and x = {outer['knee']['x']:.0f}")
    said(f"both at y = {inner['knee']['y']:.0f}")
    said(f"its diagonals at {inner['diagonal']:,.0f} and {outer['diagonal']:,.0f} FLOP")


def test_the_case() -> None:
    case = ("--case", "mlp-4096", "--batches", "16,32,512")
    least, low, at = points(*case)
    said(f"computing takes {1e3 * at['compute_time_s']:.2f} ms")
    said(f"the all-reduce {1e3 * at['network_time_s']:.2f} ms")
    said(f"| {low['operational_intensity']:.1f} ({least['operational_intensity']:.1f} at 16) |")
    for counting in ("gemm", "blocked"):
        row = points(*case, "--counting", counting)[1]
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{counting}`"))
        assert f"| {row['operational_intensity']:.1f} | 83 |" in line
    around = points("--case", "mlp-4096", "--counting", "blocked", "--batches", "83,84")
    assert around[0]["operational_intensity"] < 40 < around[1]["operational_intensity"]
    around = points("--case", "mlp-4096", "--batches", "27,28")
    assert around[0]["operational_intensity"] < 40 < around[1]["operational_intensity"]


def test_the_layer() -> None:
    flags = ("--hardware", "h100-sxm5-80", "--model", "llama3-8b", "--chips", 16, "--tp", 8)
    found = {point["series"]: point for point in points(*flags, "--batches", 1)}
    levels = {one["level"]: one["network_time_s"] for one in found["layer"]["levels"]}
    said(f"leaf take {1e3 * levels['leaf']:.2f} ms against {1e3 * levels['nvlink']:.2f} ms")
    said(f"computes for {1e3 * found['layer']['compute_time_s']:.2f} ms per sequence")
    attention = found["attention"]
    said(f"{1e6 * attention['network_time_s']:.0f} us over NVLink")
    said(f"against {1e6 * attention['compute_time_s']:.0f} us of arithmetic")
    assert (attention["region"], found["layer"]["region"]) == ("network", "compute")


def test_the_plan(tmp_path: Path) -> None:
    block = re.search(r"^```yaml\n(# file: sharded.yaml\n.*?)^```$", PAGE, re.M | re.S)
    assert block is not None
    path = tmp_path / "sharded.yaml"
    path.write_text(block[1], encoding="utf-8")
    one, two, four, _ = points("--plan", path, "--sweep", "tp")
    said(f"{one['compute_time_s']:.2f} s of computing")
    said(f"{1e3 * one['network_time_s']:.0f} ms over the leaf")
    said(f"At tp 2 the leaf takes {two['network_time_s']:.2f} s as well, near the ridge")
    said(f"at tp 4 it binds with {four['network_time_s']:.2f} s")
    assert two["near_ridge"]
    assert (four["region"], four["level"]) == ("network", "leaf")


def test_the_joules() -> None:
    found = planner("ridgeline", "--hardware", "h100-sxm5-80", "--json").document
    energy, ridge = found["energy"], found["ridgelines"][0]
    said(f"{1e12 * energy['flop_j']:.1f} pJ per FLOP, {1e12 * energy['memory_j_per_byte']:.0f} pJ")
    said(f"{energy['static_w']:.0f} W at rest")
    said(f"the same at {energy['balance']:.0f} FLOP per byte")
    said(f"at {ridge['knee']['y']:.0f} only")
    best = energy["flop_j"] + energy["static_w"] / ridge["flop_per_s"]
    assert 1e12 * best == pytest.approx(0.971, abs=5e-4)
    assert energy["assumed"] == ["static_w"]
