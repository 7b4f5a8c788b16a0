"""`--assumptions roofline`: a textbook's question 3, plan files, and what it refuses."""

import re
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, solve
from cli.plan_files import COSTS, evaluate
from strict_yaml.reading import load as load_yaml

BASE = (
    "--model", "llama2-13b", "--chips", "4096", "--hardware", "tpu-v5p",
    "--batch-tokens", "3e6", "--seq-len", "32768", "--assumptions", "roofline", "--mfu", "0.4",
)  # fmt: skip
MIXED = (*BASE, "--axes", "fsdp,tp", "--torus-axes", "fsdp=2,tp=1")
PARAMETERS, FLOP_PER_S = 13_015_864_320, 4.59e14


def refusal(*flags: object) -> str:
    """The one line that a question is refused with."""
    outcome = planner("solve", *flags)
    assert outcome.code == 2, outcome.out
    (line,) = outcome.mistakes
    return line


def changed(*flags: str) -> list[str]:
    """The question with other values for some flags."""
    asked = list(BASE)
    for name, value in zip(flags[::2], flags[1::2], strict=True):
        asked[asked.index(name) + 1] = value
    return asked


def test_question_3() -> None:
    """1024-way FSDP and 4-way tensor parallelism, compute-bound, 0.31 s (the text: 300 ms)."""
    answer = solve(*MIXED)
    best = answer["best"]
    assert {axis: n for axis, n in best["mesh"].items() if n > 1} == {"fsdp": 1024, "tp": 4}
    step_s = 6 * 3e6 * PARAMETERS / (4096 * FLOP_PER_S * 0.4)
    assert best["step_time_s"] == pytest.approx(step_s, rel=1e-12)
    assert round(step_s, 2) == 0.31
    parts = best["breakdown"]["time_s"]
    assert parts["compute"] == pytest.approx(step_s, rel=1e-12)
    assert sum(parts.values()) == pytest.approx(step_s, rel=1e-12)
    assert best["mfu"] == pytest.approx(0.4, rel=1e-12)
    assert best["sharding"] == "zero3"
    assert (answer["certificate"]["status"], answer["certificate"]["gap"]) == ("optimal", 0.0)
    assert "6 x all parameters" in answer["notes"]["mfu_convention"]
    assert answer["question"]["job"]["batch_tokens"] == 3_000_000


def test_question_3_with_every_axis_is_not_slower() -> None:
    """Without `--axes` and `--torus-axes` there is more to choose from."""
    assert solve(*BASE)["best"]["step_time_s"] <= solve(*MIXED)["best"]["step_time_s"] * (1 + 1e-9)


def test_question_3_at_the_peak() -> None:
    """At full rate the batch is too small for FSDP alone (850 x 4096 tokens), not for the mix."""
    flags = changed("--mfu", "1")
    alone = solve(*flags, "--axes", "fsdp")["best"]["breakdown"]["time_s"]
    mixed = solve(*flags, *MIXED[len(BASE) :])["best"]["breakdown"]["time_s"]
    assert alone["data_parallel"] / alone["compute"] == pytest.approx(
        850 * 4096 / 3e6 - 1, abs=1e-9
    )
    assert mixed["data_parallel"] == mixed["tensor_parallel"] == 0


def test_a_plan_file_says_the_same(tmp_path: Path) -> None:
    """Tokens that no number of sequences gives survive the file."""
    path = tmp_path / "plan.yaml"
    best = solve(*MIXED, "-o", path)["best"]
    again = evaluate(path)
    assert {name: again[name] for name in COSTS} == {name: best[name] for name in COSTS}
    job = load_yaml(path.read_text(encoding="utf-8"))["job"]
    assert (job["batch_tokens"], job["mfu"], job["assumptions"]) == (3_000_000, 0.4, "roofline")
    assert job["torus_axes"] == {"fsdp": 2.0, "tp": 1.0}
    assert job["framework"] == "textbook"


def test_a_file_that_changes_the_preset(tmp_path: Path) -> None:
    """Gathering the input again in the backward pass: 6 B D / X bytes instead of 4."""
    path = tmp_path / "again.yaml"
    path.write_text("preset: roofline\ntp_backward: 1.5\n", encoding="utf-8")
    flags = list(MIXED)
    flags[flags.index("roofline")] = str(path)
    answer = solve(*flags)
    assert answer["best"]["mfu"] == pytest.approx(0.4, rel=1e-9)
    assert answer["best"]["mesh"]["tp"] == 4


@each(("flags", "words"), [
    (
        changed("--assumptions", "calibrated", "--batch-tokens", "4Mi"),
        r"mfu: 0\.4 has no effect.*roofline",
    ),
    (changed("--mfu", "0"), "mfu: "),
    (changed("--mfu", "1.2"), "mfu: "),
    (changed("--mfu", "nan"), "mfu: "),
    (changed("--batch-tokens", "0"), "batch-tokens: "),
    (changed("--batch-tokens", "-3e6"), "batch-tokens: "),
    (changed("--batch-tokens", "4000"), r"batch-tokens: 4,000 tokens.*4,096 chips.*nearest: 4,096"),
    (changed("--model", "mixtral-8x7b"), "mixtral-8x7b has experts"),
    (changed("--assumptions", "rooflin"), "calibrated, roofline"),
    (changed("--chips", "4095"), "nearest counts are 4032 and 4096"),
    ([*BASE, "--torus-axes", "fsdp=3,tp=1"], "4 axes.*has 3"),
    ([*BASE, "--torus-axes", "fsdp=0"], "fsdp: '0' is not a positive number"),
    ([*BASE, "--torus-axes", "fsdp=-1"], "fsdp: '-1' is not a positive number"),
    ([*BASE, "--torus-axes", "fsdp=nan"], "fsdp: 'nan' is not a positive number"),
    ([*BASE, "--torus-axes", "fsdp"], "AXIS=NUMBER"),
    ([*BASE, "--torus-axes", ""], "AXIS=NUMBER"),
    ([*BASE, "--torus-axes", "x=1"], "tp, cp, fsdp, dp, pp"),
    ([*changed("--hardware", "h100-sxm5-80"), "--torus-axes", "fsdp=2,tp=1"], "no torus.*nvlink"),
])  # fmt: skip
def test_what_it_refuses(flags: list[str], words: str) -> None:
    """One line: what is wrong, what is allowed, the nearest value."""
    assert re.search(words, refusal(*flags)), refusal(*flags)


def test_fronts_of_every_kind(tmp_path: Path) -> None:
    """Torus axes survive CSV and JSON; the front is of the chips whose shares are counted."""
    for name in ("front.csv", "front.json"):
        path = tmp_path / name
        answer = solve(*MIXED, "--pareto", path)
        assert {point["chips"] for point in answer["front"]["plans"]} == {4096}
        again = evaluate(path, "--row", "1")
        assert {key: again[key] for key in COSTS} == {
            key: answer["front"]["plans"][0][key] for key in COSTS
        }
        assert again["warnings"] == []


def test_torus_axes_once() -> None:
    assert "given twice" in refusal(*BASE, "--torus-axes", "fsdp=2,fsdp=1")
