"""`--set`, `--vary` and `planner hardware new` on the command line."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner as package
from cli.command import planner, solve
from hardware_db import load_cluster
from planner.answers.varying.result import VaryResult
from planner.cli.completing import changed_paths, varied_paths

JOB = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "32")


@pytest.fixture(scope="module")
def varied() -> VaryResult:
    """A question whose best plan changes between the first two values alone."""
    return package.vary(
        ["levels.leaf.bandwidth=0.1x,1x,1.1x"], model="llama3-8b", hardware="h100-sxm5-80", chips=32
    )


def test_a_change_of_the_best_plan_is_where_it_is_said_to_be(varied: VaryResult) -> None:
    first, second = varied.between
    assert first.searched
    assert not second.searched
    assert second.within is not None
    assert 0 <= second.within < 0.01
    for low, high in zip(first.turns, first.turns[1:], strict=False):
        assert low.above.alike(high.below)
    for turn in first.turns:
        assert turn.located
        for place in (turn.below, turn.above):
            text = f"levels.leaf.bandwidth={place.at!r}x"
            answer = package.solve(model="llama3-8b", hardware="h100-sxm5-80", chips=32, set=[text])
            assert answer.best is not None
            assert place.best is not None
            assert answer.best.plan == place.best.plan
    ends = [first.turns[0].below, first.turns[-1].above]
    assert [place.best and place.best.plan for place in ends] == [
        point.best and point.best.plan for point in varied.points[:2]
    ]
    times = [point.best.step_time_s for point in varied.points if point.best]
    assert times == sorted(times, reverse=True)


def test_nothing_is_proved_between_values_where_power_is_limited() -> None:
    """A faster memory takes watts from arithmetic then, and steps may take longer."""
    for limits in ({"power_cap": 500}, {"set": ["power.tdp=1x"]}, {"min_mfu": 0.1}, {}):
        found = package.vary(
            ["memory.bandwidth=1x,1.05x,3x"], model="llama3-8b", hardware="h100-sxm5-80", chips=32,
            **limits,
        )  # fmt: skip
        times = [point.best.step_time_s for point in found.points if point.best]
        proved = all(one.within is not None for one in found.between)
        assert proved == (not limits), limits
        if "power_cap" in limits:
            assert times[2] > times[0]
            # The clock follows the cap at each value: it alone makes no other plan.
            assert len(found.winners) == 1
            assert not any(one.turns for one in found.between)


def test_what_is_not_proved_is_said(varied: VaryResult) -> None:
    turn = varied.between[0].turns[0]
    assert turn.proved
    below = dataclasses.replace(turn.below, proved=False)
    first = dataclasses.replace(
        varied.between[0], turns=(dataclasses.replace(turn, below=below),)
    )  # fmt: skip
    assert "solved; not proved)" in str(dataclasses.replace(varied, between=(first,)))
    assert "not proved" not in str(varied)


def test_vary_prints_draws_and_refuses(tmp_path: Path, varied: VaryResult) -> None:
    assert "not searched between; no plan is faster there" in str(varied)
    assert "both sides solved" in str(varied)
    picture = tmp_path / "map.svg"
    found = planner("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 8,
                    "--vary", "memory.bandwidth=0.5x,1x", "--vary", "pes=66,132",
                    "--plot", picture, "--json")  # fmt: skip
    assert found.code == 0, found.err
    points = found.document["points"]
    assert [point["values"] for point in points] == [
        ["0.5x", "66"], ["0.5x", "132"], ["1x", "66"], ["1x", "132"],
    ]  # fmt: skip
    assert picture.read_text().startswith("<svg")
    for flags, words in (
        (("--vary", "scale_up.bandwidth=1x,2x"), "vary: scale_up.bandwidth=2x cannot change"),
        (("--vary", "pes=66,132", "--pareto", "x.csv"), "pareto: is about one answer"),
        (("--vary", "memory.bandwidth=1x,2TB/s"), "factors and values are mixed"),
        (("--vary", "memory.bandwidth=1TB/s,2"), "2 has no unit; did you mean 2TB/s?"),
        (("--vary", "memory.bandwidth=2x"), "1 value; give 2 to 32"),
        (("--vary", "l2=1x,1x"), "vary: l2: 1x is given twice"),
        (("--vary", "l2=1x,"), "vary: 'l2=1x,' is not PATH=VALUE,VALUE"),
        (("--vary", "l2=1x,2x", "--set", "on_chip.l2=4x"), "l2: is changed by set too"),
        (("--batch-tokens", "4Mi..1Mi"), "batch-tokens: '4Mi..1Mi' is not a range"),
        (("--vary", "memory.bandwith=1x,2x"), "did you mean 'memory.bandwidth'?"),
    ):
        refused = planner("solve", *JOB, *flags)
        assert refused.code == 2
        assert words in refused.err


def test_a_plan_file_has_the_changes_and_flags_add_to_them(tmp_path: Path) -> None:
    file, other = tmp_path / "plan.yaml", tmp_path / "other.yaml"
    first = solve(*JOB, "--set", "memory.bandwidth=2x", "-o", file)
    again = planner("evaluate", file, "--json").document
    assert again["step_time_s"] == first["best"]["step_time_s"]
    flags = ("--set", "levels.leaf.bandwidth=0.2x", "--set", "memory.bandwidth=4x", "-o", other)
    assert planner("evaluate", file, *flags).code == 0
    assert "memory.bandwidth=4x" in other.read_text()
    assert "levels.leaf.bandwidth=0.2x" in other.read_text()
    assert planner("explain", other, "--json").code == 0


@each(
    "arguments, changed, idle",
    [
        (("feasible", "--model", "llama3-70b", "--assumptions", "roofline", "--strategies",
          "fsdp+tp", "--chips", "512"), "levels.ici.bandwidth=2x", "power.busy=0.9x"),
        (("ridgeline", "--hardware", "h100-sxm5-80"), "memory.bandwidth=2x", "power.busy=0.9x"),
        (("ridgeline", "--model", "gpt3-125m", "--chips", "16"), "memory.bandwidth=2x",
         "power.busy=0.9x"),
        (("rack", "zero", "--figure", "8"), "levels.network.bandwidth=2x", "power.tdp=2x"),
        (("rack", "parallelism", "--figure", "6"), "energy.memory=2x", "power.tdp=2x"),
        (("rack", "solve", "--strategy", "zero", "--total-pes", "64"),
         "levels.network.bandwidth=2x", "power.wait=1.1x"),
        (("rack", "zero", "--figure", "4"), "sram=64B", "sram=1MiB"),
        (("feasible", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8",
          "--strategies", "zero1"), "memory.bandwidth=2x", "pe.sram=512KiB"),
    ],
)  # fmt: skip
def test_studies_take_changes_or_refuse_them(
    arguments: tuple[str, ...], changed: str, idle: str
) -> None:
    found = planner(*arguments, "--set", changed)
    assert found.code == 0
    assert changed in found.out
    refused = planner(*arguments, "--set", idle)
    assert refused.code == 2
    assert f"set: {idle} cannot change this answer" in refused.err


def test_new_hardware_is_what_it_differs_in(tmp_path: Path) -> None:
    chip, cluster, whole = (tmp_path / f"{name}.yaml" for name in ("chip", "cluster", "whole"))
    like = ("hardware", "new", "--like")
    sets = ("--set", "memory.bandwidth=2x", "--set", "l2=100MiB")
    assert planner(*like, "h100-sxm5-80", "--name", "mine", *sets, "-o", chip).code == 0
    assert len(chip.read_text().splitlines()) < 20
    asked = planner("solve", *JOB[:2], "--hardware", chip, *JOB[4:], "--json").document
    flags = planner("solve", *JOB, *sets, "--json").document
    assert _costs(asked) == _costs(flags)
    links = ("--set", "levels.leaf.bandwidth=2x", "--set", "power.busy=600W")
    assert planner(*like, chip, "--name", "second", *links[2:], "-o", cluster).code == 0
    assert load_cluster(cluster).chip.base == load_cluster(chip).chip
    assert planner("hardware", "show", cluster, "-o", whole).code == 0
    assert planner("hardware", "show", whole).code == 0
    assert planner(*like, "h100-sxm5-80", "--name", "both", *links, "-o", cluster).code == 0
    assert load_cluster(cluster).levels[1].bandwidth_bytes_per_s == 1e11
    for name, value, words in (
        ("h200-sxm5-141", "1MiB", "is taken"),
        ("bad", "-1MiB", "a positive number is required"),
        ("bad", "64", "64 has no unit; did you mean 64MB?"),
    ):
        path = tmp_path / "no.yaml"
        wrong = planner(*like, "h100-sxm5-80", "--name", name, "--set", f"l2={value}", "-o", path)
        assert (wrong.code, path.exists()) == (2, False)
        assert words in wrong.err
    model = tmp_path / "model.yaml"
    assert planner("models", "show", "llama3-8b", "-o", model).code == 0
    assert planner("models", "show", model).code == 0


def _costs(document: dict[str, Any]) -> dict[str, Any]:
    """Figures of the best plan, without the names of files."""
    return {name: value for name, value in document["best"].items() if name != "job"}


def test_paths_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "planner solve --model mixtral-8x7b --hardware h100-sxm5-80 --set"
    monkeypatch.setitem(os.environ, "COMP_WORDS", line.replace(" ", "\n"))
    assert changed_paths("memory.") == ["memory.type=", "memory.capacity=", "memory.bandwidth="]
    assert "levels.nvlink.bandwidth=" in changed_paths("levels.nv")
    assert "moe.experts=" in changed_paths("moe.exp")
    assert changed_paths("memory.bandwidth") == [f"memory.bandwidth={f}x" for f in (0.5, 2, 4)]
    assert varied_paths("pes") == ["pes="]
