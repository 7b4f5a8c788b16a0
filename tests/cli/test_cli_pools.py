"""`planner solve --pools` and `planner evaluate` of what it writes, and what they refuse."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.answers import same
from cli.command import planner, refused, replaced, solve
from cli.jobs import BASE

POOLS = "dgx-a100-80-hdr=4,dgx-h100-ndr=4"
ASKED = (
    "--model", "gpt3-125m", "--batch-tokens", "256Ki", "--layout", "uneven", "--fix", "tp=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """An answer on two pools and the folder of its files."""
    folder = tmp_path_factory.mktemp("pools")
    files = ("-o", folder / "plan.yaml", "--pareto", folder / "front.json")
    return solve(*ASKED, "--pools", POOLS, *files), folder


def test_evaluate_gives_the_same_figures(written: tuple[Any, Path]) -> None:
    answer, folder = written
    for source in ((folder / "plan.yaml",), (folder / "front.json", "--row", "1")):
        outcome = planner("evaluate", *source, "--json")
        assert outcome.code == 0, outcome.err
        again = outcome.document
        best = answer["best"]
        for name in ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes", "stages"):
            assert again[name] == best[name]
        assert again["per_stage"] == best["per_stage"]
        assert again["fits"]
        assert again["job"]["pools"] == answer["question"]["job"]["pools"]


def test_a_cap_lowers_the_clocks_of_each_pool(written: tuple[Any, Path]) -> None:
    """A plan that knows no cap is evaluated, and shown, at the clocks that the cap leaves."""
    _, folder = written
    free = (folder / "plan.yaml").read_text(encoding="utf-8")
    assert "power_cap" not in free
    outcome = planner("evaluate", folder / "plan.yaml", "--power-cap", "350W", "--json")
    assert outcome.code == 0, outcome.err
    again = outcome.document
    of_plan, costed = ({one["pool"]: one["clock"] for one in again[name]}
                       for name in ("stages", "per_stage"))  # fmt: skip
    assert of_plan == costed
    assert 0.6 < costed["dgx-h100-ndr"] < costed["dgx-a100-80-hdr"] == again["clock"] < 1
    assert not any("clock" in line for line in again["warnings"])


def test_the_answer_says_what_is_where(written: tuple[Any, Path]) -> None:
    answer, _ = written
    assert answer["certificate"]["status"] == "optimal"
    uses = answer["stages"]["pools"]
    assert [use["name"] for use in uses] == ["dgx-a100-80-hdr", "dgx-h100-ndr"]
    assert sum(use["layers"] for use in uses) == 12
    assert sorted(stage for use in uses for stage in use["stages"]) == list(
        range(answer["best"]["mesh"]["pp"])
    )
    for stage in answer["best"]["per_stage"]:
        use = next(use for use in uses if use["name"] == stage["pool"])
        assert stage["index"] in use["stages"]
        assert stage["total_bytes"] <= stage["memory_limit_bytes"] == use["memory_limit_bytes"]
    assert all(use["alone_s"] > 0 for use in uses)
    assert answer["best"]["chips"] == 8
    sources = " ".join(answer["notes"]["sources"])
    assert "chip h100-sxm5-80" in sources
    assert "chip a100-sxm4-80" in sources


def test_a_job_file_asks_the_same(written: tuple[Any, Path], job: Any) -> None:
    answer, _ = written
    fields = {
        "model": BASE["model"], "batch_tokens": 2**18, "layout": "uneven", "fix": {"tp": 1},
        "pools": {"dgx-a100-80-hdr": 4, "dgx-h100-ndr": 4},
    }  # fmt: skip
    mine = solve(job(fields))
    same(mine, answer)


def test_the_terminal_shows_the_pools(written: tuple[Any, Path]) -> None:
    _, folder = written
    text = planner("evaluate", folder / "plan.yaml", "--show", "pools").out
    assert "Pools (memory of the fullest chip)" in text
    assert "every pool has room for its stages" in text


def test_a_pool_alone_is_bound_by_no_layout_and_no_mesh(written: tuple[Any, Path]) -> None:
    free = {use["name"]: use["alone_s"] for use in written[0]["stages"]["pools"]}
    bound = solve(*replaced(ASKED, "--layout", "5,7"), "--fix", "pp=2", "--pools", POOLS)
    assert {use["name"]: use["alone_s"] for use in bound["stages"]["pools"]} == free
    job = ("--model", "gpt3-125m", "--batch-tokens", "256Ki", "--chips", "4")
    alone = solve(*job, "--hardware", "dgx-h100-ndr", "--layout", "uneven", "--front-points", "1")
    assert free["dgx-h100-ndr"] == pytest.approx(alone["certificate"]["objective"], rel=1e-9)


def test_stages_and_pools_that_contradict_each_other_say_how(
    written: tuple[Any, Path], tmp_path: Path
) -> None:
    _, folder = written
    text = (folder / "plan.yaml").read_text(encoding="utf-8")
    changed = tmp_path / "plan.yaml"
    changed.write_text(text.replace("dgx-h100-ndr: 4", "dgx-h100-ndr: 1"), encoding="utf-8")
    (line,) = refused("evaluate", changed)
    assert "chips of dgx-h100-ndr make no whole number of them" in line
    assert re.search(r"allowed: multiples of (\d+) chips; nearest: \1$", line)
    (line,) = refused("evaluate", folder / "plan.yaml", "--clocks", "per-operation")
    assert "per-operation is not chosen on pools of chips" in line
    one = re.sub(r"pools: \{[^}]*\}", "hardware: dgx-h100-ndr", text)
    changed.write_text(one, encoding="utf-8")
    (line,) = refused("evaluate", changed)
    assert "but the job names no pools; leave pool out of the stages" in line


@each("command", ["explain", "report"])
def test_what_is_about_one_kind_of_chips_says_so(written: tuple[Any, Path], command: str) -> None:
    _, folder = written
    source = "plan.yaml" if command == "explain" else "answer.json"
    (folder / "answer.json").write_text(json.dumps(written[0]), encoding="utf-8")
    lines = refused(command, folder / source)
    assert all("planner solve and evaluate take pools" in line for line in lines)


@each(
    ("flags", "line"),
    [
        (("--pools", "dgx-h100-nd=4,dgx-a100-80-hdr=4"),
         "pools: unknown name 'dgx-h100-nd'; did you mean 'dgx-h100-ndr'?"),
        (("--pools", "dgx-h100-ndr=4"),
         "pools: 'dgx-h100-ndr=4' is one pool; name two or more, as in "
         "dgx-h100-ndr=512,dgx-a100-80-hdr=512, or use hardware and chips"),
        (("--pools", "dgx-h100-ndr=4,dgx-h100-ndr=4"),
         "pools: 'dgx-h100-ndr' is named twice; add its chips up"),
        (("--pools", "dgx-h100-ndr,dgx-a100-80-hdr=4"),
         "pools: 'dgx-h100-ndr' is not of the form HARDWARE=CHIPS, as in "
         "dgx-h100-ndr=512,dgx-a100-80-hdr=512"),
        (("--pools", "dgx-h100-ndr=0,dgx-a100-80-hdr=4"),
         "pools: 'dgx-h100-ndr': '0' is not a number of chips"),
        (("--pools", "dgx-h100-ndr=4,dgx-a100-80-hdr=9"),
         "pools: dgx-a100-80-hdr cannot give 9 chips (it is divided into nodes of 8 chips); the "
         "nearest counts are 8 and 16"),
        (("--pools", "dgx-h100-ndr=512,dgx-a100-80-hdr=7"),
         "pools: every stage needs as many chips, at most 1 here, which makes 519 stages; "
         "gpt3-125m has layers for 14 at most; nearest: 64 chips of dgx-a100-80-hdr"),
        (("--pools", POOLS, "--precision", "fp8"),
         "precision: a100-sxm4-80 has no fp8 rate; it has bf16, fp16, fp32, fp64, int8, tf32 "
         "(pool dgx-a100-80-hdr)"),
        (("--pools", POOLS, "--hardware", "dgx-h100-ndr"),
         "hardware: the pools say which chips there are; leave it or the pools out"),
        (("--pools", POOLS, "--chips", "8"),
         "chips: the pools say which chips there are; leave it or the pools out"),
        (("--pools", "dgx-h100-ndr=4,tpu-v5p=4"),
         "framework: the chips of the pools have different ones (megatron, jax); give one"),
        (("--pools", POOLS, "--layout", "uniform"),
         "pools: need stages that differ; use layout uneven with them"),
        (("--pools", POOLS, "--objective", "energy"),
         "objective: energy is not minimized on pools; allowed: time, money"),
        (("--pools", POOLS, "--fix", "schedule=interleaved"),
         "fix: schedule=interleaved is not searched on pools; allowed: gpipe, 1f1b, zero-bubble"),
        (("--pools", POOLS, "--max-memory", "200GB"), None),
        (("--pools", POOLS, "--plot", "plan.svg"),
         "plot: is not drawn on pools of chips; leave it out"),
    ],
)  # fmt: skip
def test_what_pools_cannot_be_is_refused(flags: tuple[str, ...], line: str | None) -> None:
    lines = refused("solve", *replaced(ASKED, *flags))
    if line is None:
        assert [text.partition(" is more")[0] for text in lines] == ["max-memory: 200 GB"] * 2
        return
    assert lines == [line]


NO_PLAN = {
    "memory": (("--max-memory", "800MB", "--fix", "pp=2"),
               "of the 800 MB that may be filled on each",
               "--max-memory"),
    "max-step-time": (("--max-step-time", "1ms"), "the fastest plan on the pools takes",
                      "--max-step-time"),
    "max-power": (("--max-power", "1kW"), "the other limits draws at most 1 kW", "--max-power"),
    "rules": (("--fix", "pp=6"), "no mesh with as many chips on every",
              "without --fix pp"),
}  # fmt: skip


@each("constraint", NO_PLAN)
def test_what_cannot_be_on_pools_says_why_and_what_frees_it(constraint: str) -> None:
    flags, words, remedy = NO_PLAN[constraint]
    outcome = planner("solve", *replaced(ASKED, *flags), "--pools", POOLS, "--json")
    assert outcome.code == 3, outcome.err
    assert outcome.document["certificate"]["status"] == "infeasible"
    found = outcome.document["diagnosis"]
    assert found["constraint"] == constraint
    assert words in found["explanation"]
    assert remedy in " ".join(found["remedies"])
    if constraint == "memory":
        assert re.search(r"of dgx-\S+, on stage \d+: .* too much", found["explanation"])
        assert found["needed"] > found["available"] == 800e6
        enough = found["remedies"][0].split()
        assert (
            solve(*replaced(ASKED, *enough), "--pools", POOLS)["certificate"]["status"] == "optimal"
        )
