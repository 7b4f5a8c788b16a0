"""`planner rack parallelism` on the command line: its figures, and what it refuses."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner

COMMAND = ("rack", "parallelism")


@functools.cache
def answer(*arguments: object) -> Any:
    """The JSON answer to a question; one that several tests ask is asked once."""
    outcome = planner(*COMMAND, *arguments, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    return outcome.document


def mistakes(*arguments: object) -> list[str]:
    """The lines of a refusal, which prints nothing else."""
    outcome = planner(*COMMAND, *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    return outcome.mistakes


def test_every_figure_is_in_the_document() -> None:
    document = answer()
    assert document["schema_version"] == 1
    assert list(document["figures"]) == [str(number) for number in range(2, 14)]
    for figure in document["figures"].values():
        assert figure["title"]
        for point in figure["series"]:
            assert {point["strategy"]} <= {"dp", "tp", "pp+tp"}
            assert point["gpus"] >= 4
            assert point["block_size"] in {64, 128, 256, 512, 1024}
            assert point["latency_s"] >= 0
            assert point["total_j"] == pytest.approx(sum(point["energy_j"].values()))
    assert {p["direction"] for p in document["figures"]["10"]["series"]} == {"forward", "backward"}


def test_some_figures_and_other_readings() -> None:
    slow = answer("--figure", "11,10", "--figure", 11)
    fast = answer("--figure", 11, "--ring", "chunk_path")
    assert list(slow["figures"]) == ["10", "11"]
    assert answer("--figure", "10-11") == slow
    assert (slow["setting"]["ring"], fast["setting"]["ring"]) == ("slowest_link", "chunk_path")
    last = [d["figures"]["11"]["series"][11]["latency_s"] for d in (slow, fast)]
    assert last[0] * 1e3 == pytest.approx(18.20, abs=0.005)  # DP backward on 32 GPUs
    assert last[1] * 1e3 == pytest.approx(3.16, abs=0.005)


@each(
    ("flags", "number", "key"),
    [
        (("--rack-chips", 32), 10, "total_j"),
        (("--transfers", "copies"), 10, "total_j"),
        (("--in-stage", "none"), 10, "total_j"),
        (("--tensor", "megatron"), 6, "total_j"),
        (("--scores", "stay"), 5, "latency_s"),
        (("--micro-batches", 1), 3, "latency_s"),
        (("--block-size", 256), 2, "latency_s"),
        (("--block-sizes", "32-36"), 8, "latency_s"),
        (("--sequences", 8), 2, "latency_s"),
        (("--seq-len", 1024), 4, "latency_s"),
        (("--hidden", 2048), 4, "latency_s"),
        (("--width", 8192), 2, "latency_s"),
        (("--pes", 66), 2, "latency_s"),
        (("--sram", "1MiB"), 6, "total_j"),
        (("--weight-loads", "per_micro_batch"), 6, "total_j"),
        (("--memory-chips", 1, "--weight-loads", "per_row"), 3, "latency_s"),
    ],
)
def test_every_reading_changes_its_figure(flags: tuple[object, ...], number: int, key: str) -> None:
    plain, other = (
        [
            point[key]
            for point in answer("--figure", number, *given)["figures"][str(number)]["series"]
        ]
        for given in ((), flags)
    )
    assert len(plain) == len(other)
    assert plain != other


@pytest.mark.parametrize("ending", [".svg", ".html", ".png"])
def test_tables_and_pictures(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"figures{ending}"
    outcome = planner(*COMMAND, "--figure", "6,11", "--plot", path)
    assert outcome.code == 0, outcome.err
    assert "Figure 6." in outcome.out
    assert "GPU mem. read" in outcome.out
    assert path.stat().st_size > 10_000
    if ending != ".png":
        text = path.read_text(encoding="utf-8")
        assert "GPU mem. read</text>" in text
        assert "11. Time of communication over GPUs" in text


def test_what_the_report_leaves_out() -> None:
    document = answer("--beyond")
    assert document["setting"]["chips"] == 32
    for change in document["beyond"]:
        ratio = change["after"]["step_time_s"] / change["before"]["step_time_s"]
        assert change["time_ratio"] == pytest.approx(ratio)
        assert change["changed"] or change["before"]["plan"] != change["after"]["plan"]
    outcome = planner(*COMMAND, "--beyond")
    assert outcome.code == 0
    assert "sequence parallelism" in outcome.out
    words = " ".join(outcome.out.split())
    for change in document["beyond"]:
        assert ", ".join(change["changed"][:7]) in words
    assert "dp_window, p2p_exposed, interleaved_p2p)" in words
    assert "more fields; all with --json" in words


@each(
    ("flags", "lines"),
    [
        (("--figure", 1), ["figure: 1: must be at least 2"]),
        (("--figure", "2-14"), ["figure: 14: must be at most 13"]),
        (
            ("--figure", "all"),
            ["figure: 'all' is no number or range; write it like 2-4 or 2,5"],
        ),
        (("--rack-chips", 0), ["rack-chips: 0 is not from 1 to 1,000,000; nearest: 1"]),
        (("--block-size", 2048), ["block-size: 2,048 is not from 1 to 1,024; nearest: 1,024"]),
        (("--micro-batches", "1.5"), ["micro-batches: '1.5' is not a whole number; nearest: 2"]),
        (("--ring", "slow"), ["ring: 'slow' is not one of slowest_link, chunk_path"]),
        (("--hidden", 100), ["hidden: 100 is no multiple of the 32 heads; nearest: 96"]),
        (("--block-sizes", "64,2048"), ["block-sizes: 2048: must be at most 1,024"]),
        (("--sram", "0"), ["sram: '0': must be greater than 0"]),
        (
            ("--pes", 0, "--memory-chips", -1, "--weight-loads", "twice"),
            [
                "weight-loads: 'twice' is not one of once, per_micro_batch, per_row",
                "memory-chips: -1 is not from 0 to 1,000,000; nearest: 0",
                "pes: 0 is not from 1 to 1,000,000; nearest: 1",
            ],
        ),
        (
            ("--tensor", "colums", "--scores", "go"),
            [
                "tensor: 'colums' is not one of columns, megatron; did you mean 'columns'?",
                "scores: 'go' is not one of cross, stay",
            ],
        ),
        (
            ("--hardware", "report1-rack", "--rack-chips", 4),
            ["rack-chips: report1-rack has one level of links, so no racks to size; leave it out"],
        ),
        (
            ("--beyond", "--figure", 2, "--ring", "chunk_path"),
            [
                "ring: has no effect with --beyond; leave it out",
                "figure: has no effect with --beyond; leave it out",
            ],
        ),
        (("--plot", "a.txt"), ["plot: a.txt: pictures are written as .svg, .png or .html"]),
    ],
)
def test_refusals(flags: tuple[object, ...], lines: list[str]) -> None:
    assert mistakes(*flags) == lines


@each("flags", [(), ("--beyond",)])
def test_unknown_hardware(flags: tuple[str, ...]) -> None:
    assert mistakes(*flags, "--hardware", "c2c-ndr400-rak")[0].startswith("hardware: unknown name")


def test_a_chip_without_the_facts_of_its_memories() -> None:
    found = mistakes("--hardware", "tpu-v2")
    assert all(line.startswith("chip: tpu-v2") for line in found)


def test_nothing_is_written_where_the_question_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "figures.svg"
    mistakes("--plot", path, "--figure", 99)
    assert list(tmp_path.iterdir()) == []
