"""`planner feasible` on the command line: its questions, its pictures, and what it refuses."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused
from cli.remembering import anew

ROOFLINE = ("--model", "llama2-13b", "--assumptions", "roofline")
DEFAULT = ("--model", "llama2-7b", "--hardware", "a100-sxm4-80", "--chips", 8)


def answer(*arguments: object, code: int = 0) -> Any:
    """The JSON answer to a question."""
    outcome = planner("feasible", *arguments, "--json")
    assert outcome.code == code, (outcome.code, outcome.err)
    assert outcome.err == ""
    return outcome.document


def by_strategy(document: Any) -> dict[str, Any]:
    """Rows by strategy."""
    return {row["strategy"]: row for row in document["rows"]}


def test_the_chips_of_the_design() -> None:
    document = answer("--model", "llama3-70b", "--hardware", "tpu-v5p", "--assumptions", "roofline")
    assert document["question"] == "thresholds"
    assert len(document["rows"]) == 10
    assert {row["chips"] for row in document["rows"]} == {4096}
    assert ["chips", "4,096"] in [[d["name"], d["value"]] for d in document["defaults"]]
    rows = by_strategy(document)
    assert rows["zero3"]["min_batch_tokens_compute_bound"] == 3_481_600
    assert rows["across-pods"]["binds"] == "cluster"
    keys = ("strategy", "chips", "min_batch_tokens_compute_bound", "min_batch_tokens_fit",
            "max_batch_tokens_fit", "max_tp", "x_opt", "binds")  # fmt: skip
    assert set(keys) <= set(rows["dp"])


def test_combinations_are_all_answered() -> None:
    document = answer(
        "--model", "llama2-13b,llama2-7b", "--model", "llama3-8b", "--hardware",
        "tpu-v5p,h100-sxm5-80", "--chips", "64..200", "--batch-tokens", "1Mi..2Mi",
        "--strategies", "fsdp", "--assumptions", "roofline",
    )  # fmt: skip
    cases = {(r["model"], r["hardware"], r["chips"], r["batch_tokens"]) for r in document["rows"]}
    assert len(cases) == len(document["rows"]) == 3 * 2 * 2 * 2
    assert {chips for *_, chips, _ in cases} == {64, 128}


SHARDED = ("--model", "llama2-7b", "--hardware", "h100-sxm5-80", "--chips", 8)


def test_plans_are_those_that_can_be_launched() -> None:
    asked = (*SHARDED, "--strategies", "fsdp+tp,fsdp+tp+pp")
    kept, every = answer(*asked), answer(*asked, "--runnable-in", "any")
    assert by_strategy(kept)["fsdp+tp"] == by_strategy(every)["fsdp+tp"]
    row = by_strategy(kept)["fsdp+tp+pp"]
    assert (row["binds"], row["min_batch_tokens_fit"]) == ("rules", None)
    assert "megatron has zero3 (Megatron-FSDP) without a pipeline only" in row["words"]
    assert by_strategy(every)["fsdp+tp+pp"]["min_batch_tokens_fit"] is not None
    defaults = {one["name"]: (one["value"], one["reason"]) for one in kept["defaults"]}
    assert defaults["runnable-in"] == ("megatron", "what launches megatron")
    assert defaults["max-oom-risk"][0] == "5 %"
    assert "Megatron-LM can launch as they are" in kept["notes"][-1]
    assert "launch" not in every["notes"][-1]
    outcome = planner("feasible", *SHARDED, "--strategies", "fsdp+tp+pp")
    assert outcome.code == 3


def test_a_job_that_nothing_launches_keeps_all_plans() -> None:
    document = answer("--model", "bloom-7b1", *SHARDED[2:], "--strategies", "zero1")
    defaults = {one["name"]: one for one in document["defaults"]}
    assert defaults["runnable-in"]["value"] == "any"
    assert "alibi" in defaults["runnable-in"]["reason"]
    named = answer("--model", "bloom-7b1", *SHARDED[2:], "--strategies", "zero1", "--runnable-in",
                   "megatron", code=3)  # fmt: skip
    assert "alibi" in named["rows"][0]["words"]


def test_what_each_question_is_kept_to_is_said_by_name() -> None:
    document = answer("--model", "llama2-7b", "--hardware", "h100-sxm5-80,tpu-v5e", "--chips", 8,
                      "--strategies", "fsdp+tp")  # fmt: skip
    kept = [note for note in document["notes"] if "can launch" in note]
    assert [note.partition(": ")[0] for note in kept] == [
        "llama2-7b on dgx-h100-ndr", "llama2-7b on tpu-v5e",
    ]  # fmt: skip


def test_formulas_know_no_framework() -> None:
    (words,) = refused("feasible", *ROOFLINE, "--runnable-in", "megatron")
    assert "runnable-in: megatron has no effect under roofline" in words
    document = answer(*ROOFLINE, "--strategies", "zero3", "--runnable-in", "any")
    assert "runnable-in" not in {one["name"] for one in document["defaults"]}


def test_a_range_goes_by_doubling() -> None:
    document = answer(*ROOFLINE, "--chips", "60..600", "--strategies", "zero3")
    assert [row["chips"] for row in document["rows"]] == [64, 128, 256, 512]


def test_the_verdict_and_a_shape() -> None:
    document = answer(*ROOFLINE, "--chips", "16x16x16", "--batch-tokens", "3e6", "--torus-axes",
                      "fsdp=2,tp=1")  # fmt: skip
    rows = by_strategy(document)
    assert (document["question"], rows["fsdp+tp"]["feasible"]) == ("verdict", True)
    assert (rows["dp"]["feasible"], rows["zero3"]["feasible"]) == (False, False)
    assert rows["fsdp+tp"]["x_opt_mesh"] == {"fsdp": 1024, "tp": 4}


def test_a_batch_alone_asks_for_the_chips() -> None:
    document = answer("--model", "llama3-70b", "--batch-tokens", "16e6", "--assumptions",
                      "roofline", "--strategies", "zero3")  # fmt: skip
    (row,) = document["rows"]
    assert (document["question"], row["chips"]) == ("chips", 18_816)
    assert row["max_chips_continuous"] == pytest.approx(18_823.5, abs=0.1)


def test_the_fitted_model() -> None:
    """Thresholds are whole sequences on every chip; studies/feasibility has them against a loop."""
    rows = by_strategy(answer(*DEFAULT))
    least, data_ranks, seq_len = rows["zero1"]["min_batch_tokens_compute_bound"], 8, 4096
    assert least % (data_ranks * seq_len) == 0
    assert rows["zero1"]["max_batch_tokens_fit"] is None
    assert rows["zero3"]["min_batch_tokens_compute_bound"] is None
    assert rows["zero3"]["binds"] == "fsdp communication"
    assert "largest batch looked at" in rows["zero3"]["words"]
    for batch, good in ((2**22, True), (least, True), (least - data_ranks * seq_len, False)):
        asked = ("--batch-tokens", int(batch), "--strategies", "zero1")
        (row,) = answer(*DEFAULT, *asked, code=0 if good else 3)["rows"]
        assert row["feasible"] is good
        assert row["margin"] == pytest.approx(batch / least)


def test_no_count_at_all_has_room() -> None:
    """On every number of chips no plan is left to be timed."""
    (row,) = answer(
        "--model", "llama2-7b", "--hardware", "tpu-v5p", "--strategies", "dp", "--batch-tokens",
        "1Mi", code=3,
    )["rows"]  # fmt: skip
    assert (row["chips"], row["fits"]) == (None, False)


def test_no_strategy_at_all_is_exit_code_three() -> None:
    document = answer(*ROOFLINE, "--chips", 64, "--batch-tokens", 64, "--strategies", "dp", code=3)
    assert document["rows"][0]["binds"] == "memory: state"


@each("assumptions", ["roofline", "calibrated"])
def test_deadlines(assumptions: str) -> None:
    job = ("--model", "llama2-7b", "--assumptions", assumptions, "--train-tokens", "1e12")
    (row,) = answer(*job, "--deadline", "30d")["deadlines"]
    assert row["days"] <= 30
    (tighter,) = answer(*job, "--deadline", f"{0.6 * row['days']}d")["deadlines"]
    assert tighter["chips"] > row["chips"]
    (missed,) = answer(*job, "--deadline", "1s", code=3)["deadlines"]
    assert missed["chips"] is None
    assert "computing alone takes" in missed["words"]


def test_tables_say_what_binds() -> None:
    outcome = planner("feasible", *ROOFLINE, "--chips", 64)
    assert outcome.code == 0
    assert max(map(len, outcome.out.splitlines())) <= 110
    assert "fsdp comm." in outcome.out
    assert "gathering weights takes longer than computing below" in outcome.out
    outcome = planner("feasible", *ROOFLINE, "--deadline", "30d", "--train-tokens", "2e12")
    assert "The fewest chips for 2 T tokens within 30 d\n" in outcome.out
    said = planner(
        "feasible",
        "--model",
        "llama2-7b",
        "--hardware",
        "dgx-h100-ndr",
        "--chips",
        64,
        "--batch-tokens",
        "4Mi",
        "--deadline",
        "30d@90%",
        "--train-tokens",
        "2e11",
    ).out
    assert re.search(
        r"\n  \d+ chips train 200 G tokens in [\d.]+ days at a goodput of [\d.]+ %, within [\d.]+ "
        r"days\s+with a chance of 90 %\.\n",
        said,
    )


def test_slow_chips_count_where_nobody_knows_how_often_chips_fail() -> None:
    """Alone, and beside chips of which it is known, whose plans may keep copies with peers."""
    asked = ("feasible", "--model", "gpt3-1.3b", "--chips", "16,32", "--batch-tokens", "512Ki",
             "--train-tokens", "1e11", "--deadline", "60d", "--hardware")  # fmt: skip
    for also in (("tpu-v5e",), ("dgx-h100-ndr,tpu-v5e", "--checkpoint-writes", "peer-memory")):
        alone, slow = (
            planner(*asked, *also, *flags, "--json").document["deadlines"][-1]
            for flags in ((), ("--straggler-loss", "10%", "--maintenance", "5%"))
        )
        assert alone["hardware"] == "tpu-v5e"
        assert slow["days"] == pytest.approx(alone["days"] / (0.9 * 0.95), rel=1e-9)
        assert slow["ideal_days"] == pytest.approx(alone["days"], rel=1e-9)


@pytest.mark.parametrize("name", ["three.svg", "three.html", "three.png"])
def test_pictures(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    outcome = planner("feasible", *ROOFLINE, "--chips", 64, "--plot", path)
    assert (outcome.code, outcome.err) == (0, "")
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    content = path.read_bytes()
    starts = {".svg": b"<svg ", ".html": b"<!doctype html>", ".png": b"\x89PNG"}
    assert content.startswith(starts[path.suffix])
    with anew():
        outcome = planner("feasible", *ROOFLINE, "--chips", 64, "--plot", path)
    assert (outcome.code, outcome.err) == (0, "")
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert path.read_bytes() == content


def test_a_picture_of_a_switched_cluster(tmp_path: Path) -> None:
    path = tmp_path / "time.svg"
    flags = ("--hardware", "h100-sxm5-80", "--chips", 64, "--picture", "time,split")
    assert planner("feasible", *ROOFLINE, *flags, "--plot", path).code == 0
    assert "Time per layer and forward pass, 64 chips" in path.read_text(encoding="utf-8")


def test_pictures_without_resvg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    flags = ("--chips", 64, "--picture", "ratio")
    for name in ("a.svg", "a.html"):
        assert planner("feasible", *ROOFLINE, *flags, "--plot", tmp_path / name).code == 0
        (tmp_path / name).unlink()
    assert refused("feasible", *ROOFLINE, "--plot", tmp_path / "a.png") == [
        "plot: resvg-py is not installed; install it with: pip install 'parallelism-planner[viz]'; "
        ".svg and .html need nothing more"
    ]
    assert list(tmp_path.iterdir()) == []


@each(("flags", "line"), [
    (("--batch-tokens", 0), "batch-tokens: 0: must be at least 1, a token for each chip; nearest: "
     "1"),
    (("--batch-tokens=-4Mi",), "batch-tokens: -4194304: must be at least 1, a token for each chip; "
     "nearest: 1"),
    (("--batch-tokens", 100, "--chips", 4096), "batch-tokens: 100 tokens are less than one for "
     "each of 4,096 chips; nearest: 4,096"),
    (("--batch-tokens", "1e12", "--chips", 64), "batch-tokens: 1,000,000,000,000 tokens are more "
     "than 16,777,216 for each of 64 chips; nearest: 1,073,741,824"),
    (("--hardware", "h100-sxm5-80", "--torus-axes", "fsdp=2,tp=1"), "torus-axes: dgx-h100-ndr has "
     "no torus (its nvlink is a switch); leave it out"),
    (("--torus-axes", "fsdp=3,tp=1"), "torus-axes: fsdp=3, tp=1 are 4 axes; the torus of tpu-v5p "
     "has 3"),
    (("--chips", "16x16x17"), "chips: 16x16x17 is not a slice of tpu-v5p (whole cubes within its "
     "pod, the most cubic shape of each count); nearest: 16x16x16"),
    (("--chips", "4x8x16"), "chips: 4x8x16 is not a slice of tpu-v5p (whole cubes within its pod, "
     "the most cubic shape of each count); nearest: 8x8x8"),
    (("--hardware", "h100-sxm5-80", "--chips", "4x4x4"), "chips: 4x4x4: dgx-h100-ndr has no torus "
     "(its nvlink is a switch); give a number, e.g. 64"),
    (("--chips", 0), "chips: 0: must be at least 1; nearest: 4"),
    (("--chips", 100), "chips: tpu-v5p cannot give 100 chips (it is divided into torus slices); "
     "the nearest counts are 64 and 128"),
    (("--chips", "65..70"), "chips: tpu-v5p gives no count in 65..70; nearest: 64"),
    (("--chips", "9..4"), "chips: 9..4: a range goes from a positive count up, e.g. 64..4096"),
    (("--batch-tokens", "1.."), "batch-tokens: '1..' is not a range; write it like 64..4096"),
    (("--strategies", "fsd"), "strategies: 'fsd' is not one of dp, zero1, zero2, zero3, hsdp, tp, "
     "fsdp+tp, fsdp+tp+pp, fsdp+tp+cp, across-pods; did you mean 'fsdp+tp'?"),
    (("--deadline", "30d"), "train-tokens: is missing; a deadline is for a run, e.g. 2e12 tokens"),
    (("--train-tokens", "2e12"), "train-tokens: has no effect without a deadline, e.g. --deadline "
     "30d"),
    (("--deadline", "0d", "--train-tokens", "2e12"), "deadline: 0: must be greater than 0"),
    (("--framework", "megatron"), "framework: megatron: under roofline memory is that of the "
     "framework textbook; leave it out, or use the assumptions calibrated"),
    *(((flag, *word), f"{flag[2:]}: {said}: under roofline the formulas train all weights by adam, "
       "with all state on the chips; leave it out, or use the assumptions calibrated")
      for flag, word, said in (("--job", ("lora",), "lora"), ("--optimizer", ("muon",), "muon"),
                               ("--offload", (), "true"))),
    (("--frozen-weights", "nf4"), "frozen-weights: nf4 has no effect on a pretrain job, which "
     "trains all weights; make the job lora or leave it out"),
    (("--picture", "ratio"),
     "picture: has no effect without --plot FILE.svg, FILE.png or FILE.html"),
    (("--plot", "a.pdf"), "plot: a.pdf: pictures are written as .svg, .png or .html"),
    (("--plot", "a.png", "--picture", "pie"), "picture: 'pie' is not one of ratio, time, split"),
])  # fmt: skip
def test_bad_input(flags: tuple[object, ...], line: str) -> None:
    assert refused("feasible", *ROOFLINE, *flags) == [line]


def test_bad_input_of_the_fitted_model() -> None:
    assert refused("feasible", *DEFAULT, "--batch-tokens", 5000) == [
        "batch-tokens: 5,000 tokens is not a whole number of sequences of 4,096 tokens; nearest: "
        "4,096 or 8,192"
    ]
    assert refused("feasible", *DEFAULT, "--batch-tokens", "512Mi") == [
        "batch-tokens: 536,870,912: at most 256 Mi tokens are looked at under calibrated; nearest: "
        "268,435,456"
    ]


def test_all_models_are_checked_first() -> None:
    lines = refused("feasible", "--model", "nope,llama2-13b,nada", "--assumptions", "roofline")
    assert [line.split()[3].strip("';") for line in lines] == ["nope", "nada"]
    assert refused("feasible") == [
        "model: is missing; name one, e.g. --model llama2-13b (planner models list)"
    ]
    (line,) = refused("feasible", "--model", "mixtral-8x7b", "--assumptions", "roofline")
    assert "has experts" in line


def test_help_does_not_load_numpy() -> None:
    code = (
        "import sys; from planner.cli.main import _run; _run(['feasible', '--help']); "
        "sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@each(
    ("flags", "words"),
    [
        (("--chips", "64,128"), "draws one chip count"),
        (("--hardware", "tpu-v5p,tpu-v5e"), "draws one cluster"),
        (("--deadline", "30d", "--train-tokens", "2e12"), "no picture of a deadline"),
    ],
)
def test_what_no_picture_shows(flags: tuple[str, ...], words: str, tmp_path: Path) -> None:
    path = tmp_path / "limits.svg"
    outcome = planner(
        "feasible", "--model", "llama2-7b", "--assumptions", "roofline", *flags, "--plot", path
    )
    assert words in outcome.err
    assert outcome.code == 2
    assert not path.exists()


def test_strategies_have_no_effect_on_a_fitted_deadline() -> None:
    outcome = planner(
        "feasible", "--model", "llama2-7b", "--deadline", "30d", "--train-tokens", "2e12",
        "--strategies", "dp",
    )  # fmt: skip
    assert outcome.code == 2
    assert "strategies: has no effect" in outcome.err
