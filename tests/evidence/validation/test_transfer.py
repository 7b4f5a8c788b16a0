"""Larger runs predicted from the smallest ones of their installation."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cli.command import planner, refused
from evidence.calibration.synthetic import runs_under

from hardware_db import load_calibration
from planner.evidence.calibration.runs import RunSet, fit_runs
from planner.evidence.validation.transfer import best_factor, installations_of

BASE = load_calibration()
SLOWER = 1.25


def test_the_smallest_runs_bring_the_factor_of_an_installation() -> None:
    runs = runs_under({}, 48, factor=SLOWER, noise=0.03)
    (found,) = installations_of("own", runs, BASE)
    assert (found.fewest_chips, found.most_chips) == (8, 64)
    assert (found.fitted, found.predicted) == (16, 32)
    assert found.before.mean == pytest.approx(-found.before.bias)
    assert found.before.bias == pytest.approx(1 / SLOWER - 1, abs=0.01)
    assert found.after.mean < 0.06 < found.before.mean
    assert found.own_factor.mean < 0.04


def test_it_is_the_fit_of_calibrate() -> None:
    runs = runs_under({}, 12, factor=SLOWER, noise=0.05)
    (found,) = installations_of("own", runs, BASE)
    small = [run for run in runs if run.plan.chips == 8]
    large = RunSet.of([run for run in runs if run.plan.chips > 8])
    fit = fit_runs(RunSet.of(small), BASE, {})
    assert found.choice == fit.choice == "site-factor"
    errors = large.predicted_s(BASE) * fit.values[0] / large.measured_s - 1
    assert found.after.mean == pytest.approx(float(np.abs(errors).mean()))


def test_chips_and_eras_are_installations_of_their_own() -> None:
    runs = runs_under({}, 24, factor=SLOWER)
    other = [replace(run, job=replace(run.job, era="torch-fsdp")) for run in runs]
    assert [one.era for one in installations_of("own", [*runs, *other], BASE)] == [
        "megatron-core", "torch-fsdp",
    ]  # fmt: skip
    small = [run for run in runs if run.plan.chips == 8]
    large = next(run for run in runs if run.plan.chips > 8)
    assert installations_of("own", small, BASE) == []
    assert installations_of("own", [*small, large], BASE) == []


def test_no_factor_leaves_less_than_the_best() -> None:
    ratios = np.exp(0.5 * np.random.default_rng(5).standard_normal(31))
    least = np.abs(ratios * best_factor(ratios) - 1).mean()
    others = np.abs(np.outer(np.geomspace(0.2, 5.0, 4001), ratios) - 1).mean(axis=1)
    assert least <= others.min() < least + 1e-3


def test_the_command_on_a_published_source() -> None:
    flags = ("validate", "--what", "transfer", "--source", "trn1", "--source", "bloom")
    document: Any = planner(*flags, "--json").document["transfer"]
    (source,) = document["sources"]
    assert (source["source"], document["left_out"]) == ("trn1", ["bloom"])
    assert document["after"] == source["after"] == document["installations"][0]["after"]["mean"]
    shown = planner(*flags)
    assert shown.code == 0
    assert "mean of 1 source" in shown.out
    assert f"{100 * source['after']:.1f}" in shown.out


def test_sources_without_enough_runs_are_refused() -> None:
    (line,) = refused("validate", "--what", "transfer", "--source", "bloom")
    assert "source: none has 2 runs of one chip and era" in line
