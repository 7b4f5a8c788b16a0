"""`--assumptions rack-energy` and `rack-zero`: answers, front, and what they refuse."""

import itertools
import math

from support.cases import each

from cli.command import planner, solve

ASKED = ("--model", "llama3-8b", "--hardware", "c2c-ndr400-rack", "--chips", "16")


@each("preset", ["rack-energy", "rack-zero"])
def test_the_best_plan_and_its_energy_by_component(preset: str) -> None:
    """Proved; no interval, no standing power; parts add up to compute, memory and two links."""
    answer = solve(*ASKED, "--assumptions", preset)
    best = answer["best"]
    assert answer["certificate"]["status"] == "optimal"
    assert answer["notes"]["interval"] is None
    parts = {name: joules for name, joules in best["breakdown"]["energy_j"].items() if joules}
    assert set(parts) == {"compute", "memory", "network: nvlink-c2c", "network: ndr400"}
    assert math.isclose(sum(parts.values()), best["energy_per_step_j"], rel_tol=1e-9)
    assert parts["compute"] > parts["memory"] > parts["network: ndr400"] > 0


def test_weights_hide_and_add_up() -> None:
    """The same zero3 plan: one after the other it takes longer than behind each other."""
    times, shares = [], []
    for preset in ("rack-zero", "rack-energy"):
        fixed = ("--axes", "fsdp", "--assumptions", preset)
        best = solve(*ASKED, *fixed)["best"]
        assert best["mesh"]["fsdp"] == 16
        times.append(best["step_time_s"])
        shares.append(best["breakdown"]["time_s"]["data_parallel"] / best["step_time_s"])
    assert times[0] < times[1]
    assert shares[0] < shares[1]


def test_the_front_trades_time_for_energy() -> None:
    """No two plans of the front agree in either; energy falls as time rises."""
    front = solve(*ASKED, "--assumptions", "rack-energy")["front"]["plans"]
    assert len(front) > 1
    for fast, frugal in itertools.pairwise(front):
        assert fast["step_time_s"] < frugal["step_time_s"]
        assert fast["energy_per_step_j"] > frugal["energy_per_step_j"]


@each("preset", ["rack-energy", "rack-zero"])
def test_flags_without_effect_are_refused(preset: str) -> None:
    outcome = planner("solve", *ASKED, "--assumptions", preset, "--mfu", "0.4")
    assert outcome.code == 2
    (line,) = outcome.mistakes
    assert line == (
        f"mfu: 0.4 has no effect under the peak rates of {preset}; use the assumptions roofline "
        "or leave it out"
    )


def test_a_precision_that_the_chip_lacks() -> None:
    asked = ("--model", "llama3-8b", "--hardware", "report1-rack", "--chips", "8")
    outcome = planner("solve", *asked, "--precision", "bf16", "--assumptions", "rack-zero")
    assert outcome.code == 2
    (line,) = outcome.mistakes
    assert "report1-gpu has no bf16 rate; it has int8" in line
