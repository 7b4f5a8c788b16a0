"""Which kind of file a mapping is, told by the fields at its top that no other kind has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from planner.assumptions.assumptions import ORIGIN, Assumptions


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        words: What it is called.
        telling: Fields at its top that are in no other kind.
        command: Which command takes it, where it is easily given to another one.
    """

    words: str
    telling: frozenset[str]
    command: str = ""


def _telling(names: str) -> frozenset[str]:
    return frozenset(names.split())


_PLOT = "planner {} --plot draws it"
_STAMP = frozenset({"schema_version", "versions"})
_OF_PEOPLE = _telling("job plan fleet model cluster chip graph workload table site assumptions")
OTHER = "other"
"""The kind of an answer that nothing reads."""

KINDS: dict[str, Kind] = {
    "job": Kind(
        "a job file",
        _telling(
            "model hardware batch_tokens lora_rank adapter lora_targets lora_dropout reference "
            "images tower_recompute "
            "frozen_weights optimizer precision framework "
            "fp8_recipe era assumptions objective "
            "chips_exact axes fix clocks max_memory memory_margin max_power max_step_time min_mfu "
            "deadline budget max_run_energy time_limit train_tokens price_per_chip_hour "
            "electricity_price carbon_intensity mfu "
            "torus_axes front_points runnable_in phases down"
        ),
        "planner solve takes it",
    ),
    "plan": Kind("a plan", _telling("plan"), "planner evaluate takes it"),
    "front": Kind(
        "a front",
        _telling(
            "plan_job objectives complete front_objectives front_complete front_note certificate "
            "candidates"
        ),
        "planner evaluate takes it, with --row",
    ),
    "certificate": Kind(
        "a certificate", _telling("records nodes claim sha256"), "planner verify takes it"
    ),
    "fleet": Kind(
        "a fleet file",
        _telling("days grid weights clusters jobs defaults"),
        "planner fleet takes it",
    ),
    "fleet-answer": Kind(
        "the answer of planner fleet",
        _telling("totals usual late reasons changes second solved"),
        _PLOT.format("fleet"),
    ),
    "evaluation": Kind(
        "the answer of planner evaluate",
        _telling("mesh step_time_s breakdown fits memory_limit_bytes warnings"),
        "planner report takes it",
    ),
    "explanation": Kind(
        "the answer of planner explain",
        _telling("binding steps refused elasticities overtakings numbers left_out"),
        "planner report takes it",
    ),
    "comparison": Kind(
        "the answer of planner compare",
        _telling("plans basis_tokens differences costs waterfalls pairs"),
        _PLOT.format("compare"),
    ),
    "two-answers": Kind(
        "the answer of planner compare about two answers",
        _telling("statuses changes_left_out parts_s"),
    ),
    "ridgeline": Kind(
        "the answer of planner ridgeline",
        _telling("ridgelines degenerate counting knee points"),
        _PLOT.format("ridgeline"),
    ),
    "phases": Kind(
        "the answer of planner solve --phases",
        _telling("passages total"),
        "planner report takes it",
    ),
    "outage": Kind(
        "the answer of planner solve --down",
        _telling("covered left ways running pays"),
        "planner report takes it",
    ),
    "values": Kind(
        "the answer of planner solve at several values",
        _telling("subject between"),
        "no command reads it, planner solve --vary --plot draws it",
    ),
    "goodput": Kind(
        "the answer of planner goodput",
        _telling("chip_hours_low chip_hours_high spares_chance law runs chips_at_half"),
        _PLOT.format("goodput"),
    ),
    "failure-log": Kind(
        "the answer of planner calibrate --failures",
        _telling("chip_hours all"),
        "its -o writes a file that --failure-site takes",
    ),
    "validation": Kind(
        "the answer of planner validate",
        _telling("goodput site_factors summary skipped skipped_rows"),
    ),
    "feasibility": Kind(
        "the answer of planner feasible",
        _telling("question rows deadlines"),
        _PLOT.format("feasible"),
    ),
    "rack-zero": Kind(
        "the answer of planner rack zero",
        _telling("last_hidden_gpus never_bound plateau_cycles readings basis inputs"),
        _PLOT.format("rack zero"),
    ),
    "rack-parallelism": Kind(
        "the answer of planner rack parallelism",
        _telling("setting"),
        _PLOT.format("rack parallelism"),
    ),
    "rack-solve": Kind(
        "the answer of planner rack solve",
        _telling("workload workload_title space resolution budgets remedies"),
        _PLOT.format("rack solve"),
    ),
    "rack-topology": Kind(
        "the answer of planner rack topology",
        _telling("traffic routing topologies"),
        _PLOT.format("rack topology"),
    ),
    "report": Kind("what planner report --json prints", _telling("path bytes sections")),
    "model": Kind(
        "a model",
        _telling(
            "family aliases layers hidden heads kv_heads head_dim vocab_size tied_embeddings "
            "parallel_block attention window mlp norm positions moe mtp published"
        ),
    ),
    "cluster": Kind("a cluster", _telling("chip node_chips max_chips levels")),
    "chip": Kind(
        "a chip",
        _telling(
            "vendor architecture year process pe clock peak memory on_chip power dvfs energy "
            "scale_up host gemm_tile default_cluster"
        ),
    ),
    "graph": Kind(
        "a graph of chips and links",
        _telling("switches links"),
        "planner rack topology --graph takes it",
    ),
    "workload": Kind("a workload of a rack", _telling("einsums"), "planner rack zero takes it"),
    "table": Kind("a table of constants", _telling("constants")),
    "site": Kind(
        "a failure rate",
        _telling("failures exposure_chip_hours causes"),
        "--failure-site takes it",
    ),
    "assumptions": Kind(
        "a file of assumptions",
        frozenset(field.name for field in fields(Assumptions)) - {*ORIGIN, "collectives"}
        | {"preset"},
    ),
    OTHER: Kind("the answer of another command of planner", frozenset()),
}


def kind_of(data: Mapping[str, Any], *wanted: str) -> str:
    """The kind of a file's content, or nothing; between two that are as likely a wanted one.

    What is stamped as an answer is no file that people write, and is told by two fields.
    """
    stamped = data.keys() >= _STAMP
    found = {
        name: len(kind.telling & data.keys())
        for name, kind in KINDS.items()
        if not (stamped and name in _OF_PEOPLE)
    }
    likeliest = max(found, key=lambda name: (found[name], name in wanted))
    enough = min(2, len(KINDS[likeliest].telling)) if stamped else 1
    if found[likeliest] >= max(enough, 1):
        return likeliest
    return OTHER if stamped else ""


def another_kind(data: Mapping[str, Any], what: str, *wanted: str) -> str:
    """`is a plan, not a model`, or nothing where the content may be of a wanted kind.

    Args:
        data: The mapping in a file.
        what: What is wanted, in words.
        wanted: The kinds that are.
    """
    kind = kind_of(data, *wanted)
    return f"is {KINDS[kind].words}, not {what}" if kind and kind not in wanted else ""


def with_command(data: Mapping[str, Any], what: str, *wanted: str) -> str:
    """As `another_kind`, with the command that takes such a file."""
    text = another_kind(data, what, *wanted)
    command = KINDS[kind_of(data, *wanted)].command if text else ""
    return f"{text}: {command}" if command else text
