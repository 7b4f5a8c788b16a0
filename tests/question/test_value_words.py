"""Values of questions are said with their units, whoever says them."""

from functools import partial
from typing import Any

import pytest
from support.cases import each

from planner.answers.changes.two_answers import Change
from planner.base.errors import InputError
from planner.question.asked import ASKED
from planner.question.asked.values import field_words, symbol_of, value_words
from planner.question.request import request_from
from planner.report.pages.provenance import job_rows
from planner.report.tables.sweep import cell_words, column_words
from planner.studies.sweep.question.points import points_of
from planner.studies.sweep.question.study import study_of
from planner.studies.sweep.winners import groups_of


@each(("name", "value", "words"), [
    ("max_memory", 10e9, "10 GB"),
    ("max_memory", 80.125e9, "80.125 GB"),
    ("checkpoint_store", 2e11, "200 GB/s"),
    ("max_power", 5000.0, "5 kW"),
    ("max_step_time", 1.0, "1 s"),
    ("max_step_time", 0.25, "250 ms"),
    ("time_limit", 1200, "1,200 s"),
    ("mtbf", 10800.0, "3 h"),
    ("deadline", 60 * 86400.0, "60 d"),
    ("deadline", "60d@90%", "60d@90%"),
    ("max_run_energy", 7.2e13, "20 GWh"),
    ("max_area", 5000.0, "5,000 mm^2"),
    ("max_oom_risk", 0.05, "5 %"),
    ("gap", 0.001, "0.1 %"),
    ("carbon_intensity", 300.0, "300 g/kWh"),
    ("batch_tokens", 4194304, "4,194,304"),
    ("train_tokens", 1.56e13, "15.6 T"),
    ("train_tokens", 1e30, "1e+30"),
    ("price_per_chip_hour", 2.0, "2"),
    ("pue", 1.1, "1.1"),
    ("chips", 512, "512"),
    ("offload", True, "true"),
    ("axes", ["dp", "tp"], "dp, tp"),
    ("pes", [66, 132], "66, 132"),
    ("fix", {"pp": ["8"], "sharding": ["zero1"]}, "pp=8, sharding=zero1"),
    ("power_cap_w", 700, "700 W"),
    ("host_w_per_chip", 125.0, "125 W per chip"),
])  # fmt: skip
def test_a_value_has_the_unit_that_people_say(name: str, value: Any, words: str) -> None:
    assert value_words(name, value) == words


@pytest.mark.parametrize("field", [one for one in ASKED if one.kind == "quantity" and one.unit])
def test_every_quantity_has_its_unit(field: Any) -> None:
    counted = field.unit in ("tokens", "chips")
    assert bool(symbol_of(field.name)) is not counted
    assert counted or not value_words(field.name, 12.0).replace(" ", "").isdigit()


def test_two_values_that_differ_are_told_apart() -> None:
    def told(name: str, old: Any, new: Any) -> tuple[str | None, str | None]:
        return Change(group="question", name=name, old=old, new=new).in_words

    assert told("max_memory", 1e10, None) == ("10 GB", None)
    assert told("max_memory", 60e9, 60e9 + 1e3) == ("60 GB", "60.000001 GB")
    assert told("max_step_time", 1200.0, 1200.001) == ("1,200 s", "1,200.001 s")


def test_cells_and_pages_say_the_same() -> None:
    assert cell_words("max_memory", 60_000_000_000) == "60 GB"
    assert column_words("max_memory") == "max_memory (B)"
    assert (cell_words("chips", 4096), column_words("chips")) == ("4,096", "chips")
    assert job_rows({"max_memory": 60e9, "power_cap_w": 700.0, "chips": None}) == [
        ("max memory", "60 GB"), ("power cap", "700 W"),
    ]  # fmt: skip
    assert field_words("batch_tokens") == "batch tokens"


@each(("given", "words"), [
    ({"max_step_time": "1e40d"}, "max_step_time: 1e+40 d: must be at most 1.15741e+25 d"),
    ({"max_oom_risk": "200%"}, "max_oom_risk: 200 %: must be at most 100 % and greater "
     "than 0; nearest: 100 %"),
    ({"max_oom_risk": 2}, "max_oom_risk: 2: must be at most 1 and greater than 0; "
     "nearest: 1"),
    ({"max_memory": "0GB"}, "max_memory: 0: must be greater than 0"),
])  # fmt: skip
def test_a_limit_is_told_in_the_unit_that_was_typed(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        request_from({"model": "llama3-8b", **given})
    assert str(caught.value) == words


def test_groups_of_a_picture_have_their_unit() -> None:
    few = groups_of([5000.0, None, 10_000.0], 8, partial(cell_words, "max_power"))
    assert few == ["5 kW", "none", "10 kW"]
    shares = [at / 100 for at in range(101)]
    assert groups_of(shares, 8, partial(cell_words, "best.mfu"))[-1].endswith(" to 100 %")


def test_a_point_that_is_refused_is_named_with_units() -> None:
    fixed = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}
    study = study_of(fixed, cross={"max_memory": [70e9, -2e9]})
    with pytest.raises(InputError, match="at max_memory=-2 GB: "):
        list(points_of(study))
