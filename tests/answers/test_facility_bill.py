"""Power at each boundary, electricity and CO2 of one cluster and of two, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import each

import planner
from hardware_db import load_cluster
from planner.base.vocabulary import BOUNDARIES

PUE, PRICE, PER_KWH, CARBON = 1.25, 2.5, 0.11, 350.0
DAY_S, J_PER_KWH = 86400, 3.6e6
CHIPS: tuple[dict[str, int], ...] = (
    {"dgx-h100-ndr": 16},
    {"dgx-h100-ndr": 16, "dgx-a100-80-hdr": 16},
)


def asked(chips: dict[str, int]) -> dict[str, Any]:
    """One cluster by its name, several as pools."""
    if len(chips) > 1:
        return {"pools": chips, "layout": "uneven", "fix": {"pp": 2}}
    ((name, count),) = chips.items()
    return {"hardware": name, "chips": count}


@each("chips", CHIPS)
def test_boundaries_and_bills(chips: dict[str, int]) -> None:
    """Hosts draw what their records say, switches more, the facility PUE times both, which pays."""
    answer = planner.solve(
        model="gpt3-1.3b", batch_tokens=2**18, pue=PUE, train_tokens=2**38,
        price_per_chip_hour=PRICE, electricity_price=PER_KWH, carbon_intensity=CARBON,
        **asked(chips),
    )  # fmt: skip
    best, run = answer.require(), answer.run
    assert run is not None
    assert best.energy_per_token_j == pytest.approx(best.energy_per_step_j / 2**18)
    joules = {boundary.name: boundary.energy_j for boundary in best.boundaries}
    chip, node, within, facility = (joules[name] / best.step_time_s for name in BOUNDARIES)
    hosts = sum(count * load_cluster(name).chip.host_w for name, count in chips.items())
    assert node - chip == pytest.approx(hosts)
    assert within > node
    assert facility == pytest.approx(PUE * within)
    assert best.energy_per_step_j == pytest.approx(within * best.step_time_s)
    assert (run.goodput is None) == (len(chips) > 1)  # nobody published how often two kinds fail
    if len(chips) > 1:
        assert run.energy_mwh == pytest.approx(within * run.days * DAY_S / J_PER_KWH / 1e3)
    kwh = PUE * run.energy_mwh * 1e3
    assert run.facility_energy_mwh == pytest.approx(kwh / 1e3)
    assert run.electricity_cost == pytest.approx(PER_KWH * kwh)
    assert run.co2_t == pytest.approx(CARBON * kwh / 1e6)
    assert run.cost == pytest.approx(PRICE * sum(chips.values()) * run.days * 24)
