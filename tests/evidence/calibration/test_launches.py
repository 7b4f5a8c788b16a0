"""From a folder of short launches that ran to constants, and to what to measure next."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import planner, refused
from support.cases import each

from evidence.calibration.launched import megatron_line, megatron_log, write_nccl, write_run
from hardware_db import load_calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.evidence.calibration.answer import CalibrationResult
from planner.evidence.calibration.asking import Question, calibrate
from planner.evidence.calibration.launches.manifest import read_manifest
from planner.evidence.calibration.launches.measured import planned_runs, read_folder
from planner.evidence.calibration.launches.value import Experiment, candidates
from planner.evidence.calibration.posterior import Prior
from planner.evidence.calibration.runs import RunSet, with_values

BASE = load_calibration()
GEMM, ATTENTION, LINKS = (
    "gemm_efficiency.h100",
    "attention_efficiency.cudnn",
    "network.scale_up_efficiency",
)
TRUTH = {
    GEMM: 0.85 * BASE.value(GEMM),
    ATTENTION: 0.7 * BASE.value(ATTENTION),
    LINKS: 0.8 * BASE.value(LINKS),
}
PLAN = """schema_version: 1
job: {model: llama3-8b, hardware: h100-sxm5-80, batch_tokens: 4194304, seq_len: 8192,
  precision: bf16, framework: megatron}
plan:
  mesh: {dp: 16, tp: 4}
  micro_batch: 1
  sharding: zero1
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of launches that were not run yet."""
    home = tmp_path_factory.mktemp("launches")
    (home / "my-plan.yaml").write_text(PLAN, encoding="utf-8")
    made = planner("measure", home / "my-plan.yaml", "--framework", "megatron", "-o", home / "m")
    assert made.code == 0, made.err
    assert "MEGATRON_HOME" in made.out
    return home / "m"


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """The same, to be run and changed."""
    return Path(shutil.copytree(written, tmp_path / "m"))


@pytest.fixture(scope="module")
def found(written: Path, tmp_path_factory: pytest.TempPathFactory) -> CalibrationResult:
    """What a machine with other constants teaches, 4 % slower as a whole than they say."""
    folder = Path(shutil.copytree(written, tmp_path_factory.mktemp("ran") / "m"))
    write_run(folder, TRUTH, factor=1.04)
    write_nccl(folder, TRUTH)
    return calibrate(Question(measurements=folder))


def values_of(result: CalibrationResult) -> dict[str, float]:
    """Constants after the measurements."""
    return {one.path: one.value for one in result.findings}


def test_the_true_constants_come_back(found: CalibrationResult) -> None:
    values = values_of(found)
    for path, value in TRUTH.items():
        gone = abs(np.log(values[path] / value)) / abs(np.log(BASE.value(path) / value))
        assert gone < 0.35, path
    assert {one.by for one in found.findings} == {"nccl", "traces", "runs"}
    assert all(one.sigma < one.prior_sigma for one in found.findings if not one.kept)


def test_the_job_is_predicted(found: CalibrationResult, written: Path) -> None:
    """64 chips from launches of 8 and 16."""
    job, _ = planned_runs(written, read_manifest(written))
    runs, values = RunSet.of([job]), values_of(found)
    true = 1.04 * runs.predicted_s(with_values(BASE, TRUTH))
    local = runs.predicted_s(with_values(BASE, values)) * values[SITE_FACTOR]
    assert abs(local / true - 1) < 0.03 < 0.1 < abs(runs.predicted_s(BASE) / true - 1)


def test_where_the_time_went_and_the_memory_are_said(found: CalibrationResult) -> None:
    kinds = [one["what"] for one in found.measurements]
    assert kinds == ["trace", "memory"] * 4
    trace, memory = found.measurements[:2]
    assert trace["gemm_s"] > trace["attention_s"] > 0
    assert memory["measured_bytes"] == pytest.approx(40112.51171875 * 2**20)
    assert {one.kind for one in found.inputs} == {"log", "trace", "nccl"}


def test_what_to_measure_next(found: CalibrationResult, folder: Path) -> None:
    left = {one.name for one in found.candidates}
    assert left == {"collectives on 2 nodes", "microbenchmarks of one device"}
    write_run(folder, TRUTH, traces=False)
    for name in ("2-layers-2-nodes", "4-layers"):
        (folder / name / "log-0.txt").unlink()
    few = calibrate(Question(measurements=folder)).candidates
    assert [one.fall for one in few] == sorted((one.fall for one in few), reverse=True)
    assert all(0 < one.sigma_after <= one.sigma_before for one in few)
    assert few[0].command.startswith("bash ")  # a launch tells more than a test of collectives
    now = {one.sigma_before for one in (*few, *found.candidates)}
    assert len(now) == 2
    assert found.candidates[0].sigma_before < few[0].sigma_before


def test_the_value_of_information_is_that_of_a_normal_model() -> None:
    """Two constants, of which the job is the product, and a measurement of one of them."""
    priors = [Prior(path="a", value=2.0, sigma=0.3), Prior(path="b", value=3.0, sigma=0.1)]
    experiments = [
        Experiment(name=path, command="", predict=lambda v, p=path: np.array([v[p]]), noise=0.1)
        for path in ("a", "b")
    ]
    first, second = candidates(lambda v: np.array([v["a"] * v["b"]]), experiments, priors)
    assert (first.name, second.name) == ("a", "b")
    assert first.sigma_before**2 == pytest.approx(0.3**2 + 0.1**2, rel=1e-3)
    left = 1 / (1 / 0.3**2 + 1 / 0.1**2)
    assert first.sigma_after**2 == pytest.approx(left + 0.1**2, rel=1e-3)
    assert first.fall == pytest.approx(0.3**2 - left, rel=1e-3)


def test_a_factor_that_rows_share_limits_what_they_tell() -> None:
    priors = [Prior(path="a", value=2.0, sigma=0.3)]
    many = Experiment(
        name="many", command="", predict=lambda v: np.full(1000, v["a"]), noise=0.1, common=0.05
    )
    (one,) = candidates(lambda v: np.array([v["a"]]), [many], priors)
    assert one.sigma_after == pytest.approx(1 / np.sqrt(0.3**-2 + 0.05**-2), rel=1e-2)


def test_the_command_writes_what_solve_and_evaluate_use(folder: Path) -> None:
    write_run(folder, TRUTH)
    target = folder.parent / "local.yaml"
    made = planner("calibrate", "--measurements", folder, "-o", target)
    assert made.code == 0, made.err
    for words in ("Measure next", "4 traces", "exposed", "2-layers-4-micro", "NODES=2 bash nccl"):
        assert words in made.out
    shipped, local = (
        planner("evaluate", folder / "plan.yaml", *more, "--json").document["step_time_s"]
        for more in ((), ("--calibration", target))
    )
    assert local > 1.05 * shipped


def test_logs_alone_give_a_site_factor(folder: Path) -> None:
    write_run(folder, {}, factor=1.2, traces=False)
    document: Any = planner("calibrate", "--measurements", folder, "-o",
                            folder.parent / "x.yaml", "--json").document  # fmt: skip
    assert document["choice"] == "site-factor"
    assert document["findings"][0]["value"] == pytest.approx(1.2, rel=0.05)
    assert document["candidates"][0]["sigma_before"] > 0


def test_what_the_launches_did_not_run_with_is_refused(folder: Path) -> None:
    write_run(folder, {}, factor=1.2, traces=False)
    asked = ("calibrate", "--measurements", folder, "-o", folder.parent / "x.yaml")
    lines = refused(*asked, "--hardware", "a100-sxm4-80", "--era", "neuron")
    assert [line.partition(":")[0] for line in lines] == ["hardware", "era"]
    assert all("the launches ran with" in line for line in lines)
    assert planner(*asked, "--hardware", "h100-sxm5-80").code == 0


def test_logs_of_another_plan_are_never_taken_for_the_new_ones(written: Path, folder: Path) -> None:
    write_run(folder, {}, factor=1.2, traces=False)
    mine = written.parent / "my-plan.yaml"
    again = ("measure", mine, "--framework", "megatron", "-o", folder)
    assert planner(*again).code == 0
    other = folder.parent / "other.yaml"
    other.write_text(PLAN.replace("sharding: zero1", "sharding: zero2"), encoding="utf-8")
    before = (folder / "manifest.yaml").read_bytes()
    (line,) = refused("measure", other, "--framework", "megatron", "-o", folder)
    assert "is the log of another launch; name another folder" in line
    assert (folder / "manifest.yaml").read_bytes() == before


def test_a_log_with_another_run_in_it_gives_the_steps_of_the_launch(folder: Path) -> None:
    write_run(folder, {}, traces=False)
    own = {one.name: one.run for one in read_folder(folder).launches}
    log = folder / "2-layers" / "log-0.txt"
    log.write_text(megatron_log(9.9, sequences=2048) + log.read_text())
    found = read_folder(folder)
    for one in found.launches:
        assert one.run.measured_step_time_s == own[one.name].measured_step_time_s
    words = "2-layers: 20 steps of another run (2048 sequences per step) are left out"
    assert found.left_out == (words,)
    assert words in calibrate(Question(measurements=folder)).skipped


@each(("flags", "code", "words"), [
    (("--hardware", "ascend-910b", "--chips", 64), 3, "runs on GPUs of NVIDIA and AMD, not on"),
    (("--hardware", "h100-sxm5-80", "--chips", 1), 3, "No plan fits (proved): "),
])  # fmt: skip
def test_no_plan_to_measure(
    flags: tuple[object, ...], code: int, words: str, tmp_path: Path
) -> None:
    asked = ("measure", "--framework", "megatron", "--model", "llama3-8b", "-o", tmp_path / "m")
    outcome = planner(*asked, *flags)
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert not (tmp_path / "m").exists()


@each(("change", "words"), [
    ("nothing", "has no log yet; run bash 2-layers/measure.sh there"),
    ("empty log", "log-*.txt: is empty"),
    ("early end", "ends with step 3; the first 5 of a launch warm up, more are needed"),
    ("another run", "is the log of another run: its steps have 2048 sequences, those of the"),
    ("another mesh", "is the log of another run: it has chips 512, the plan 8"),
    ("from a checkpoint", "ends with step 103; the first 5 of a launch warm up, more are needed"),
    ("cut trace", "not a whole gzip file"),
    ("no manifest", "has no manifest.yaml; planner measure -o"),
    ("no folder", "is no folder; planner measure -o"),
    ("version", "schema_version is 9; this planner reads version 1"),
    ("framework", "framework: 'jax' is not one of megatron, torchtitan"),
    ("layers", "launches.0.layers: 0: must be at least 1"),
    ("out of memory", "has no line of a step: the run ran out of memory"),
])  # fmt: skip
def test_wrong_folders(written: Path, tmp_path: Path, change: str, words: str) -> None:
    folder = Path(shutil.copytree(written, tmp_path / "m"))
    manifest, log = folder / "manifest.yaml", folder / "2-layers" / "log-0.txt"
    text = manifest.read_text(encoding="utf-8")
    if change == "empty log":
        log.write_text("", encoding="utf-8")
    elif change == "early end":
        log.write_text(megatron_log(0.2, steps=3, sequences=4), encoding="utf-8")
    elif change == "another run":
        log.write_text(megatron_log(0.2, sequences=2048), encoding="utf-8")
    elif change == "another mesh":
        log.write_text("using world size: 512, x\n" + megatron_log(0.2, sequences=4))
    elif change == "from a checkpoint":
        log.write_text("".join(megatron_line(step, 0.2, 4) for step in (101, 102, 103)))
    elif change == "out of memory":
        log.write_text("torch.OutOfMemoryError: CUDA out of memory.", encoding="utf-8")
    elif change == "cut trace":
        log.write_text(megatron_log(0.2, sequences=4), encoding="utf-8")
        (folder / "2-layers" / "a.pt.trace.json.gz").write_bytes(b"\x1f\x8b\x08\x00cut")
    elif change == "no manifest":
        manifest.unlink()
    elif change == "no folder":
        folder = tmp_path / "other"
    elif change == "version":
        manifest.write_text(text.replace("schema_version: 1", "schema_version: 9"))
    elif change == "framework":
        manifest.write_text(text.replace("framework: megatron", "framework: jax"))
    elif change == "layers":
        manifest.write_text(text.replace("layers: 2\n", "layers: 0\n", 1))
    outcome = planner("calibrate", "--measurements", folder, "-o", tmp_path / "l.yaml")
    assert outcome.code == 2
    (line,) = outcome.mistakes
    assert words in line


@each(("flags", "words"), [
    ((), "framework: is missing"),
    (("--framework", "jax"), "framework: 'jax' is not one of megatron, torchtitan"),
    (("--framework", "megatorn"), "did you mean 'megatron'?"),
    (("--framework", "torchtitan", "my-plan.yaml"), "is predicted for megatron"),
    (("--framework", "megatron", "my-plan.yaml", "--chips", 8), "chips: is in the plan file"),
    (("--framework", "megatron", "--model", "llama3-8b"), "chips: is missing"),
    (("--framework", "megatron", "no.yaml"), "no.yaml: cannot be read"),
    (("--framework", "megatron", "my-plan.yaml", "-o", "my-plan.yaml"), "is a file; name a folder"),
])  # fmt: skip
def test_wrong_questions(
    written: Path, flags: tuple[object, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written.parent)
    (line,) = refused("measure", *flags)
    assert words in line
