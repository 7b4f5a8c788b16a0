"""What a failure takes out and what the job does then, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused
from hardware_db import list_chips
from planner.answers.run.sizes import Smaller, ranks_of_domain, smaller_sizes
from planner.base.vocabulary import PRICES
from planner.cost.goodput.domains import domain_of
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.question.run.prices import prices
from planner.question.run.running import no_peers

JOB = ("--model", "gpt3-1.3b", "--hardware", "dgx-h100-ndr", "--chips", "64")
RUN = ("--train-tokens", "1e12", "--mtbf", "3h")
UNKNOWN = (
    "--model",
    "gpt3-1.3b",
    "--hardware",
    "tpu-v5e",
    "--chips",
    "64",
    "--train-tokens",
    "1e12",
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan file with dp 64 in micro-batches of 1, and the tokens of its run."""
    path = tmp_path_factory.mktemp("recovery") / "plan.yaml"
    fixed = ("--fix", "dp=64", "--fix", "micro_batch=1", "--fix", "sharding=zero1")
    assert planner("solve", *JOB, *RUN, *fixed, "-o", path, "--quiet").code == 0
    return path


def kept_of(plan: Path, *flags: object) -> dict[str, Any]:
    """The goodput of an evaluated plan."""
    outcome = planner("evaluate", plan, *flags, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = outcome.document["training_run"]["goodput"]
    return found


@each(("flags", "told"), [
    (("--repair", "1h"), "repair: has no effect without spares where nobody published how often"),
    (("--failure-domain", "ici"), "failure-domain: has no effect without spares where nobody"),
    (("--on-failure", "shrink"), "on-failure: shrink has no effect where nobody published how "),
])  # fmt: skip
def test_what_changes_nothing_where_nobody_knows_the_rate_is_refused(
    flags: tuple[str, ...], told: str
) -> None:
    (said,) = refused("solve", *UNKNOWN, *flags)
    assert said.startswith(told)
    assert said.endswith(
        "of tpu-v5e; give that, e.g. chip-hours-per-failure 50000, or leave it out"
    )


def test_what_changes_the_rates_that_are_printed_then_is_taken(tmp_path: Path) -> None:
    """Each of them another rate at which goodput is below 90 %."""
    path = tmp_path / "plan.yaml"
    assert planner("solve", *UNKNOWN, "-o", path, "--quiet").code == 0
    flags = (
        "", "--detection 1min", "--restart 2h", "--spares 0", "--spares 1",
        "--spares 1 --repair 1h", "--no-while-down", "--checkpoint-store 1GB/s",
        "--checkpoint-writes blocking", "--checkpoint-writes peer-memory",
        "--checkpoint-writes peer-memory --peer-covers 10%",
        "--on-failure wait --repair 1h",
    )  # fmt: skip
    edges = set()
    for words in flags:
        found = planner("evaluate", path, *words.split(), "--json")
        assert (found.code, found.err) == (0, "")
        edges.add(found.document["training_run"]["break_even_chip_hours"])
    assert len(edges) == len(flags)


def test_where_days_are_all_that_is_shown_what_does_not_change_them_is_refused() -> None:
    asked = ("feasible", "--model", "gpt3-1.3b", "--train-tokens", "1e11", "--deadline", "60d",
             "--chips", "16")  # fmt: skip
    lines = refused(*asked, "--hardware", "tpu-v5e", "--restart", "1h", "--no-while-down")
    assert [line.split(" where ")[0] for line in lines] == [
        f"{name}: has no effect on days" for name in ("restart", "while-down")
    ]
    lines = refused(*asked, "--hardware", "dgx-h100-ndr", "--repair", "1h")
    assert lines == [
        "repair: has no effect on days where spares are enough; give spares or on-failure wait, or "
        "leave it out"
    ]
    both = (*asked, "--hardware", "dgx-h100-ndr,tpu-v5e", "--restart", "1h")
    assert planner(*both).code == 0


def test_copies_with_peers(plan: Path) -> None:
    slow = ("--checkpoint-store", "50MB/s")
    store, peers = kept_of(plan, *slow), kept_of(plan, *slow, "--checkpoint-writes", "peer-memory")
    assert store["recovery"]["peers"] is None
    assert peers["recovery"]["peers"]["covered"] == pytest.approx(321 / 419, rel=1e-3)
    assert peers["share"] > store["share"]
    assert peers["checkpoint_steps"] < peers["recovery"]["store_steps"]
    assert store["recovery"]["store_steps"] == store["checkpoint_steps"]
    load = store["checkpoint_bytes"] / 50e6
    assert peers["recovery"]["peers"]["restart_s"] == pytest.approx(600 - load, abs=1)
    more = kept_of(plan, *slow, "--checkpoint-writes", "peer-memory", "--peer-covers", "95%")
    assert more["share"] > peers["share"]


def test_what_has_no_peer_is_told_so(plan: Path) -> None:
    flags = ("--checkpoint-writes", "peer-memory", "--failure-domain", "rail")
    kept, plain = kept_of(plan, *flags), kept_of(plan)
    assert kept["recovery"]["no_peers"].startswith("all 64 chips are in one rail: ")
    assert (kept["recovery"]["peers"], kept["share"]) == (None, plain["share"])
    text = " ".join(planner("evaluate", plan, *flags).out.split())
    assert "no copies with peers, counted as async: all 64 chips are in one rail" in text
    request = request_from({**dict(zip(("model", "hardware"), JOB[1::2], strict=False)),
                            "chips": 64, "checkpoint_writes": "peer-memory",
                            "train_tokens": 1e12})  # fmt: skip
    said = no_peers(request, resolve(request).cost, 64, 70e9)
    assert said.startswith("its copies need 280 GB of the host's memory per chip")


def test_a_job_that_shrinks(plan: Path) -> None:
    spare, wait, shrink = (
        kept_of(plan, "--mtbf", "30h", "--on-failure", word) for word in ("spare", "wait", "shrink")
    )
    assert shrink["recovery"]["ranks"][:2] == [64, 32], (
        "a node has 8 ranks, and 32 divides the batch"
    )
    assert wait["share"] < shrink["share"] < spare["share"]
    assert 0.0 < shrink["smaller"] < 1.0 - shrink["share"]
    names = ("share", "stalls", "down", "lost", "stragglers", "waits", "smaller", "maintenance")
    for kept in (spare, wait, shrink):
        assert sum(kept[name] for name in names) == pytest.approx(1.0)
    both = kept_of(plan, "--mtbf", "30h", "--on-failure", "shrink", "--spares", "2")
    assert shrink["share"] < both["share"] < spare["share"]


def test_maintenance_and_while_down(plan: Path) -> None:
    plain, kept = kept_of(plan), kept_of(plan, "--maintenance", "14.61h")
    assert kept["maintenance"] == pytest.approx(0.02)
    assert kept["share"] == pytest.approx(0.98 * plain["share"])
    assert kept_of(plan, "--no-while-down")["share"] > plain["share"]


def test_spares_count_by_domain(plan: Path) -> None:
    node, rail = kept_of(plan), kept_of(plan, "--failure-domain", "rail")
    assert (node["recovery"]["domain_nodes"], rail["recovery"]["domain_nodes"]) == (1, 8)
    assert rail["spares_wanted"] == 8 * node["spares_wanted"]


def why(hardware: str, plan: Plan, model: str = "gpt3-1.3b", domain: str = "node") -> str:
    """Why a plan does not shrink; empty: it does."""
    asked = {"model": model, "hardware": hardware, "chips": plan.chips, "batch_tokens": 2**19}
    cost = resolve(request_from(asked)).cost
    found = smaller_sizes(cost, plan, domain_of(cost.cluster, domain, plan.chips))
    return "" if isinstance(found, Smaller) else found


@each(("plan", "words"), [
    (Plan(fsdp=16, sharding="zero3"), "its 16 ranks of fsdp hold parts of one state: no replica"),
    (Plan(tp=8), "it has one data rank: no replica"),
    (Plan(dp=2, pp=8, order=("dp", "pp")), "one node has chips of all 2 data ranks"),
    (Plan(dp=4, tp=8, micro_batch=64), ""),
    (Plan(dp=16, micro_batch=16), ""),
    (Plan(dp=3, tp=8, micro_batch=32), ""),
])  # fmt: skip
def test_why_a_plan_does_not_shrink(plan: Plan, words: str) -> None:
    assert why("dgx-h100-ndr", plan)[: len(words) or None].startswith(words)


def test_experts_of_a_group_that_is_lost() -> None:
    whole = Plan(dp=8, tp=8, ep=64)
    assert "the experts of its groups of ep 64" in why("dgx-h100-ndr", whole, "deepseek-v2-lite")
    half = Plan(dp=16, tp=8, ep=64)
    assert why("dgx-h100-ndr", half, "deepseek-v2-lite") == ""


@each(("plan", "chips", "ranks"), [
    (Plan(dp=64), 8, 8), (Plan(dp=8, tp=8), 8, 1), (Plan(dp=8, tp=4), 8, 2),
    (Plan(dp=4, pp=4, order=("dp", "pp")), 8, 4), (Plan(dp=4, fsdp=16, sharding="zero3"), 8, 1),
    (Plan(dp=9, tp=8), 72, 9),
])  # fmt: skip
def test_data_ranks_of_a_domain(plan: Plan, chips: int, ranks: int) -> None:
    assert ranks_of_domain(plan, chips) == ranks


@each(("flags", "line"), [
    (("--failure-domain", "rack"), "failure-domain: 'rack' is not one of node, rail, leaf, "),
    (("--failure-domain", ""), "failure-domain: "),
    (("--failure-domain", "rail", "--spares", "3"), "spares: a failure takes out the 8 nodes of "),
    (("--on-failure", "shrunk"), "on-failure: 'shrunk' is not one of spare, wait, shrink"),
    (("--on-failure", "wait", "--spares", "1"), "spares: on-failure wait waits for repairs"),
    (("--peer-covers", "90%"), "peer-covers: has no effect without checkpoint-writes peer-memory"),
    (("--peer-covers", "0"), "peer-covers: 0: must be greater than 0"),
    (("--maintenance", "100%"), "maintenance: 100 %: must be less than 100 %"),
    (("--maintenance", "2 weeks"), "maintenance: '2 weeks' is no share of the time or hours a "),
    (("--maintenance", "nan"), "maintenance: "),
    (("--prices", "aws"), "prices: 'aws' is not one of aws-blocks-h100, "),
    (("--prices", "aws-blocks-a100"), "prices: aws-blocks-a100 is the price of a100-sxm4-40, not"),
    (("--prices", "eia-iowa,eia-texas"), "prices: eia-iowa and eia-texas are both per kWh"),
    (("--prices", "aws-blocks-h100", "--price-per-chip-hour", "3"),
     "price-per-chip-hour: prices aws-blocks-h100 means 4.916, not 3"),
])  # fmt: skip
def test_what_is_refused(flags: tuple[str, ...], line: str) -> None:
    (said,) = refused("solve", *JOB, *RUN, *flags)
    assert said.startswith(line)


def test_shrinking_is_of_one_plan() -> None:
    (said,) = refused("feasible", *JOB, "--deadline", "30d", *RUN, "--on-failure", "shrink")
    assert said.startswith("on-failure: shrink is worked out for one plan")


def test_published_prices_say_their_date_and_source(plan: Path) -> None:
    flags = ("--prices", "aws-blocks-h100,eia-texas")
    run = planner("evaluate", plan, *flags, "--json").document["training_run"]
    assert run["cost"] == pytest.approx(4.916 * 64 * 24 * run["days"])
    assert run["electricity_cost"] == pytest.approx(66 * run["facility_energy_mwh"])
    for words, date, source in zip(run["prices"], ("2024-12", "2023"), ("aws", "eia"), strict=True):
        assert f", {date} (https://" in words
        assert source in words
    own = planner("evaluate", plan, "--price-per-chip-hour", "4.916", "--json").document
    assert own["training_run"]["prices"] == []


def test_prices_are_those_of_the_database() -> None:
    assert tuple(prices()) == PRICES
    assert all(one.date and one.source.startswith("https://") for one in prices().values())
    chips = {one.chip for one in prices().values() if one.per == "chip-hour"}
    assert chips <= set(list_chips())


def test_a_price_without_a_run_has_no_effect() -> None:
    (said,) = refused("solve", *JOB, "--prices", "aws-blocks-h100")
    assert said.startswith("prices: has no effect without train-tokens")
