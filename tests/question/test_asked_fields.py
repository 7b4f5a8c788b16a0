"""The fields of the question: whatever shows one takes it from the one table of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from cli.command import planner, refused
from typer.main import get_command

from hardware_db import load_calibration
from planner.base.errors import InputError
from planner.base.units import parse_count
from planner.cli.main import app
from planner.cost.energy.facility import default_facility
from planner.objectives import fronts
from planner.question.asked import (
    ASKED,
    BY_NAME,
    EXPORTED,
    FEASIBLE,
    REPLACED,
    WHOLE_RUN,
    Asked,
)
from planner.question.asked.field import JOB
from planner.question.asked.named import filled
from planner.question.asked.usual import BATCH_TOKENS
from planner.question.asked.words import FIELDS_WITH_WORDS, words_of
from planner.question.kinds.uneven import limits_on_front
from planner.question.recipes.recipes import usual_of
from planner.question.request import Request, request_from
from planner.question.resolved import resolve

SCHEMA: dict[str, Any] = Request.model_json_schema()["properties"]


def options_of(command: str) -> dict[str, Any]:
    """The options of a command by name, in the order of its help."""
    found: Any = get_command(app)
    params = found.commands[command].params
    return {one.name: one for one in params if one.param_type_name == "option"}


def test_every_field_is_in_the_table_once() -> None:
    assert len(BY_NAME) == len(ASKED)
    assert set(BY_NAME) == set(Request.model_fields)


@pytest.mark.parametrize("field", ASKED, ids=lambda field: field.name)
def test_schema_and_flag_say_what_the_table_says(field: Asked) -> None:
    made = Request.model_fields[field.name]
    assert made.is_required() == (field.default is ...)
    assert made.is_required() or made.default == field.default
    assert SCHEMA[field.name]["description"] == filled(field.description)
    flags = options_of("solve")
    flag, off = flags[field.name], flags.get(f"no_{field.name}")
    assert [flag.help, flag.rich_help_panel] == [field.flag_help, field.panel]
    opposite = flag.secondary_opts if off is None else off.opts
    assert "/".join([*flag.opts, *opposite]) == field.flag


@pytest.mark.parametrize(("command", "names"), [
    ("solve", tuple(BY_NAME)), ("feasible", FEASIBLE), ("explain", REPLACED), ("export", EXPORTED),
    ("evaluate", (*REPLACED, "runnable_in", *WHOLE_RUN)),
])  # fmt: skip
def test_a_command_has_its_fields_in_one_row(command: str, names: tuple[str, ...]) -> None:
    offs = {f"no_{field.name}" for field in ASKED if field.also}
    given = [name for name in options_of(command) if name not in offs]
    first = given.index(names[0])
    assert tuple(given[first : first + len(names)]) == names


@pytest.mark.parametrize("command", ["evaluate", "explain"])
def test_flags_about_launches_are_made_from_their_fields(command: str) -> None:
    flags = options_of(command)
    names = ("model", "chips", "seq_len", "batch_tokens", "fix")
    assert [one.name for one in flags.values() if one.name in names] == list(names)
    for name in names:
        made, field = flags[name], options_of("solve")[name]
        assert made.metavar == BY_NAME[name].metavar
        assert made.multiple == field.multiple
        assert made.rich_help_panel == "Launches (--from)"
        assert made.help.endswith(".")


def test_fields_that_replace_those_of_a_file_say_so() -> None:
    flags = options_of("evaluate")
    assert flags["hardware"].help == "Another cluster or chip than the file's."
    assert flags["hardware"].rich_help_panel is None
    assert flags["pue"].help == BY_NAME["pue"].flag_help  # which says the same of both


def listed(schema: Any) -> list[str]:
    """The words that a part of a schema lists, or its items."""
    if isinstance(schema, dict):
        found = schema["enum"] if "enum" in schema else [*schema.values()]
        return found if "enum" in schema else [w for part in found for w in listed(part)]
    return [word for part in schema for word in listed(part)] if isinstance(schema, list) else []


@pytest.mark.parametrize("name", FIELDS_WITH_WORDS)
def test_the_words_of_a_field_are_those_of_its_schema(name: str) -> None:
    if BY_NAME[name].kind in ("path", "text"):
        assert listed(SCHEMA[name]) == []  # beside the words it takes paths or layers
    else:
        assert sorted(listed(SCHEMA[name])) == sorted(words_of(name))


def test_a_front_is_of_what_fronts_are_of() -> None:
    names = {name for front in fronts() for name in front}
    assert set(listed(SCHEMA["front"])) == names
    assert "edp" not in names
    assert all(name in words_of("front") for name in names)
    for unknown in ("edp", "speed", 3):
        assert unknown not in words_of("front")
    (line,) = refused("solve", "--model", "gpt3-125m", "--chips", 8, "--front", "time,edp")
    allowed = "time, energy, memory, money, power, days, run-energy, run-money"
    assert line == f"front: 'edp' is not one of {allowed}"


def test_texts_for_files_name_fields_and_not_flags() -> None:
    for field in ASKED:
        assert not re.search(r"--[a-z]|repeatable", field.description), field.name
        assert field.description.endswith("."), field.name
        assert not re.search(r"\.\.(?![0-9])", field.description), field.name  # 512..4096


def test_a_default_and_a_unit_are_said_once() -> None:
    field = Asked(name="most_heat", help="Most heat, unlike --max-power", panel=JOB,
                  kind="quantity", unit="watts", default=3.0)  # fmt: skip
    assert field.flag == "--most-heat"
    assert field.flag_help == "Most heat, unlike --max-power (default: 3.0)."
    assert field.description == "Most heat, unlike max_power. In watts. Default: 3.0."
    switch = Asked(name="on", help="It is on", panel=JOB, kind="switch", default=True,
                   default_text="it is")  # fmt: skip
    assert switch.flag == "--on/--no-on"
    assert switch.description == "It is on. Default: true."


def test_a_default_that_is_said_is_the_one_that_is_taken() -> None:
    said = {name: BY_NAME[name].default_text for name in BY_NAME}
    pretrain, _, tuning = said["batch_tokens"].partition("; ")
    assert parse_count(pretrain, "tokens") == BATCH_TOKENS
    for job in ("finetune", "lora"):
        usual = usual_of(job)
        assert tuning == f"of finetune and lora {usual.sequences} sequences"
        assert f"of finetune and lora {usual.seq_len} if that is less" in said["seq_len"]
    assert usual_of("lora").lora_rank == BY_NAME["lora_rank"].default
    asked = request_from({"model": "gpt3-125m", "hardware": "h100-sxm5-80", "layout": "uneven"})
    assert str(limits_on_front(asked)) == said["front_points"]
    resolved = resolve(asked, chips=8)
    taken = {name: value for name, value, _ in resolved.defaults}
    assert taken["batch-tokens"].startswith(f"{BATCH_TOKENS:,} tokens")
    assert taken["cooling"] == resolved.cooling == said["cooling"]
    assert float(taken["pue"]) == default_facility().pue == float(said["pue"])
    assert load_calibration().value("power.pue") == default_facility().pue
    assert resolved.cost.assumptions.collectives == said["collectives"]


def test_a_range_that_is_said_is_the_one_that_holds() -> None:
    least, most = re.findall(r"(\d+) to (\d+)", BY_NAME["pue"].help)[0]
    limits = next(one for one in SCHEMA["pue"]["anyOf"] if one["type"] == "number")
    assert (float(least), float(most)) == (limits["minimum"], limits["maximum"])
    for pue in (float(least), float(most)):
        assert request_from({"model": "gpt3-125m", "pue": pue}).pue == pue
    for pue in (float(least) - 0.01, float(most) + 0.01):
        with pytest.raises(InputError, match=r"^pue: .*must be at (least|most)"):
            request_from({"model": "gpt3-125m", "pue": pue})


def test_the_help_of_solve_has_every_field() -> None:
    shown = planner("solve", "--help-all").out
    assert not [field.name for field in ASKED if field.flag.partition("/")[0] not in shown]
