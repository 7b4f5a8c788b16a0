"""`planner calibrate` and `--calibration`: files, provenance, mistakes."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, refused
from support.cases import each

from evidence.calibration.synthetic import csv_text, nccl_text, runs_under
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

LINES = [(1 << 20, 60e-6), (1 << 24, 160e-6), (1 << 28, 1.6e-3), (1 << 30, 5.9e-3)]
SOLVE = ("solve", "--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", 8)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of five runs and of their local calibration, made once."""
    folder = tmp_path_factory.mktemp("measured")
    found = runs_under({}, 5, factor=1.2, noise=0.02)
    (folder / "runs.csv").write_text(csv_text(found, 5), encoding="utf-8")
    made = planner("calibrate", "--runs", folder / "runs.csv", "-o", folder / "local.yaml")
    assert made.code == 0, made.err
    return folder


@pytest.fixture
def runs(tmp_path: Path, measured: Path) -> Path:
    """Five runs of an installation that is 20 % slower than predicted."""
    return Path(shutil.copy(measured / "runs.csv", tmp_path))


@pytest.fixture
def local(tmp_path: Path, measured: Path) -> Path:
    """The local calibration of those runs."""
    return Path(shutil.copy(measured / "local.yaml", tmp_path))


def content(path: Path) -> Any:
    """A YAML file."""
    return load_yaml(path.read_text(encoding="utf-8"))


def test_runs_make_a_file(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "local.yaml"
    outcome = planner("calibrate", "--runs", runs, "-o", target, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    answer, written = outcome.document, content(target)
    assert answer["file"] == str(target)
    assert answer["choice"] == "site-factor"
    (found,) = answer["findings"]
    assert found["path"] == "site_factor.local"
    assert found["value"] == written["constants"]["site_factor"]["local"]["value"]
    assert 1.1 < found["value"] < 1.2 < found["measured"] * 1.02
    assert written["based_on"] == "default"
    assert (written["chips"], written["eras"]) == (["h100-sxm5-80"], ["megatron-core"])
    assert written["runs"] == 5
    assert written["inputs"][0]["rows"] == 5
    assert re.fullmatch(r"[0-9a-f]{64}", written["inputs"][0]["sha256"])
    shipped, site = answer["errors"]
    assert site["left_out"] < 0.06 < 0.15 < shipped["left_out"]


def test_the_report_has_everything(runs: Path, tmp_path: Path) -> None:
    log = tmp_path / "all_reduce_perf.txt"
    log.write_text(nccl_text(LINES), encoding="utf-8")
    gemm = tmp_path / "gemm.csv"
    gemm.write_text("m,n,k,dtype,tflops\n4096,4096,4096,bf16,640\n8192,8192,8192,bf16,700\n")
    flags = ("--runs", runs, "--nccl", log, "--gemm", gemm, "-o", tmp_path / "x.yaml")
    outcome = planner("calibrate", *flags)
    assert outcome.code == 0, outcome.err
    for words in ("site_factor.local", "network.scale_up_efficiency", "gemm_efficiency.h100",
                  "each left out", "Effect on reference plans", "own-"):  # fmt: skip
        assert words in outcome.out
    constants = content(tmp_path / "x.yaml")["constants"]
    assert {"site_factor", "network"} <= set(constants)


def test_solve_and_evaluate_use_it_and_say_so(local: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    outcome = planner(*SOLVE, "--calibration", local, "-o", plan, "--json")
    assert outcome.code == 0, outcome.err
    answer = outcome.document
    factor = content(local)["constants"]["site_factor"]["local"]["value"]
    assert answer["question"]["job"]["assumptions"] == "calibrated with local.yaml"
    (note,) = [one for one in answer["notes"]["defaults"] if one["name"] == "calibration"]
    assert f"site factor {factor:.3f}" in note["value"]
    again = planner("evaluate", plan, "--json").document
    assert again["step_time_s"] == answer["best"]["step_time_s"]
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace(", calibration: local.yaml", ""), encoding="utf-8")
    shipped = planner("evaluate", plan, "--json").document
    assert again["step_time_s"] == pytest.approx(factor * shipped["step_time_s"])
    assert shipped["job"]["assumptions"] == "calibrated"


def test_another_chip_and_another_era(local: Path) -> None:
    plain = ("solve", "--model", "llama3-8b", "--chips", 8, "--json")
    other = (*plain, "--hardware", "a100-sxm4-80")
    with_it = planner(*other, "--calibration", local).document
    assert with_it["best"]["step_time_s"] == planner(*other).document["best"]["step_time_s"]
    (note,) = [one for one in with_it["notes"]["defaults"] if one["name"] == "calibration"]
    assert note["value"].endswith("local.yaml: not used")
    assert note["reason"] == "measured on h100-sxm5-80, not on a100-sxm4-80"
    assert with_it["question"]["job"]["assumptions"] == "calibrated"
    same = (*plain, "--hardware", "h100-sxm5-80", "--framework", "torchtitan")
    era = planner(*same, "--calibration", local).document
    assert era["best"]["step_time_s"] == planner(*same).document["best"]["step_time_s"]
    (note,) = [one for one in era["notes"]["defaults"] if one["name"] == "calibration"]
    assert "no site factor" in note["value"]


def test_feasible_takes_it(local: Path) -> None:
    flags = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", 8)
    outcome = planner("feasible", *flags, "--calibration", local, "--json")
    assert outcome.code == 0, outcome.err
    assert any(one["name"] == "calibration" for one in outcome.document["defaults"])


def test_local_powers_change_the_energy_alone(tmp_path: Path) -> None:
    path = tmp_path / "power.yaml"
    one = {"value": 0.5, "unit": "1", "prior": 0.93, "sigma": 0.03, "n": 1}
    path.write_text(
        dump_yaml(
            {
                "based_on": "default",
                "date": "2026-11-22",
                "chips": ["h100-sxm5-80"],
                "constants": {"power": {"busy_share_of_tdp": one}},
            }
        )
    )
    shipped, lower = (
        planner(*SOLVE, "--no-clocks", *more, "--json").document["best"]
        for more in ((), ("--calibration", path))
    )
    assert lower["step_time_s"] == shipped["step_time_s"]
    assert lower["energy_per_step_j"] < 0.9 * shipped["energy_per_step_j"]


def test_validate_uses_it_and_its_runs_never_widen_the_intervals(
    local: Path, runs: Path, tmp_path: Path
) -> None:
    flags = ("validate", "--data", runs, "--json")
    before, after = planner(*flags), planner(*flags, "--calibration", local)
    assert after.code == 0, after.err
    (note,) = after.document["notes"]
    assert "5 rows" in note
    assert "site factor 1." in note
    factor = content(local)["constants"]["site_factor"]["local"]["value"]
    for old, new in zip(before.document["rows"], after.document["rows"], strict=True):
        assert new["predicted_step_time_s"] == pytest.approx(factor * old["predicted_step_time_s"])
        assert new["site_factor"] == 1.0
        # strictly narrower only where the sources of an era differ: tests/cost/test_intervals.py
        assert new["high_s"] / new["low_s"] <= old["high_s"] / old["low_s"] * (1 + 1e-9)
    two = tmp_path / "two.yaml"
    two.write_text(local.read_text().replace("runs: 5", "runs: 2"), encoding="utf-8")
    (few, *_) = planner(*flags, "--calibration", two).document["rows"]
    old = before.document["rows"][0]
    assert few["high_s"] / few["low_s"] == pytest.approx(old["high_s"] / old["low_s"])
    solved = planner(*SOLVE, "--calibration", local, "--json").document
    assert solved["notes"]["interval"]["words"].endswith("5 local runs")
    assert (
        planner(*SOLVE, "--json").document["notes"]["interval"]["words"].endswith("no local runs")
    )


def test_rows_that_cannot_be_used_are_named_and_the_others_used(runs: Path, tmp_path: Path) -> None:
    lines = runs.read_text(encoding="utf-8").splitlines()
    cells = lines[2].split(",")
    cells[-1] = "0"
    lines[2] = ",".join(cells)
    runs.write_text("\n".join([*lines, lines[1]]) + "\n", encoding="utf-8")
    outcome = planner("calibrate", "--runs", runs, "-o", tmp_path / "x.yaml", "--json")
    assert outcome.code == 0
    skipped = outcome.document["skipped"]
    assert len(outcome.document["rows"]) == 4
    assert skipped[0].endswith("step_time_s: 0 is not positive")
    assert " line 3 (" in skipped[0]
    assert " line 7 ('own-" in skipped[1]
    assert skipped[1].endswith("is also that of line 2")


def test_nothing_left_is_refused(runs: Path) -> None:
    text = runs.read_text(encoding="utf-8").replace("h100-sxm5-80", "h100-sxm5-8")
    runs.write_text(text, encoding="utf-8")
    lines = refused("calibrate", "--runs", runs, "-o", runs.parent / "x.yaml")
    assert lines[0].endswith("no row is left")
    assert len(lines) == 1 + 5
    assert all("did you mean" in line and " line " in line for line in lines[1:])
    assert not (runs.parent / "x.yaml").exists()


def test_milliseconds_are_recognized(runs: Path) -> None:
    lines = runs.read_text(encoding="utf-8").splitlines()
    slow = [lines[0]]
    for line in lines[1:]:
        head, _, seconds = line.rpartition(",")
        slow.append(f"{head},{float(seconds) * 1e3:g}")
    runs.write_text("\n".join(slow), encoding="utf-8")
    mistakes = refused("calibrate", "--runs", runs, "-o", runs.parent / "x.yaml")
    assert mistakes[0].endswith("no row is left")
    assert len(mistakes) == 1 + 5
    assert all("in milliseconds, write" in line for line in mistakes[1:])


def test_columns_that_are_missing(runs: Path) -> None:
    text = runs.read_text(encoding="utf-8").replace("step_time_s", "step_time_ms", 1)
    runs.write_text(text, encoding="utf-8")
    (line,) = refused("calibrate", "--runs", runs, "-o", runs.parent / "x.yaml")
    assert line.endswith("column 'step_time_s' is missing; 'step_time_ms' is there: give seconds")


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("")
    (line,) = refused("calibrate", "--runs", path, "-o", tmp_path / "x.yaml")
    assert line.endswith("is empty; its first line must name the columns")


def test_faults_of_all_files_are_listed(tmp_path: Path) -> None:
    log, gemm = tmp_path / "log.txt", tmp_path / "gemm.csv"
    log.write_text("this is no log\n")
    gemm.write_text("m,n,k,dtype,seconds\n1,1,1,bf16,0\n")
    flags = ("--nccl", log, "--gemm", gemm, "--hardware", "h100-sxm5-80")
    mistakes = refused("calibrate", *flags, "-o", tmp_path / "x.yaml")
    assert len(mistakes) == 2
    assert "line 2: seconds: 0: must be greater than 0" in mistakes[0]
    assert "lists no ranks" in mistakes[1]


@pytest.mark.parametrize(("flags", "words"), [
    ((), "nothing to fit: give --runs"),
    (("--gpus", "8", "--gemm", "g.csv"), "gpus: has no effect without --nccl"),
    (("--fit", "both", "--gemm", "g.csv"), "fit: 'both' is not one of auto, site-factor"),
    (("--era", "x", "--gemm", "g.csv"), "era: 'x' is not one of"),
    (("--quick", "--gemm", "g.csv"), "quick: has no effect without --measure"),
    (("--gemm", "g.csv"), "g.csv: cannot be read"),
])  # fmt: skip
def test_flags(
    flags: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = refused("calibrate", *flags, "-o", "x.yaml")
    assert words in line


def test_hardware_that_is_not_said(tmp_path: Path) -> None:
    gemm = tmp_path / "g.csv"
    gemm.write_text("m,n,k,dtype,seconds\n4096,4096,4096,bf16,3e-4\n")
    (line,) = refused("calibrate", "--gemm", gemm, "-o", tmp_path / "x.yaml")
    assert line.startswith("hardware: is missing; say what was measured")


def test_measurements_that_say_too_little_write_nothing(tmp_path: Path) -> None:
    log, target = tmp_path / "sendrecv_perf.txt", tmp_path / "x.yaml"
    log.write_text(nccl_text([(1 << 30, 30.0)], test="sendrecv_perf"), encoding="utf-8")
    outcome = planner("calibrate", "--nccl", log, "-o", target, "--json")
    assert outcome.code == 0
    moved = [one for one in outcome.document["findings"] if not one["kept"]]
    assert bool(outcome.document["file"]) == bool(moved) == target.exists()


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    (line,) = refused("calibrate", "--runs", path, "-o", tmp_path / "x.yaml")
    assert "is no CSV file of runs: the columns hardware, n_chips, seq_len" in line


def test_multiplications_in_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("m,n,k,dtype,seconds\n4096,4096,4096,bf16,0.2\n")
    flags = ("--gemm", path, "--hardware", "h100-sxm5-80", "-o", tmp_path / "x.yaml")
    (line,) = refused("calibrate", *flags)
    assert "of the peak of h100-sxm5-80; check the unit, seconds" in line


def test_the_target_is_checked_first(runs: Path, tmp_path: Path) -> None:
    (line,) = refused("calibrate", "--runs", runs, "-o", tmp_path / "x.txt")
    assert line.endswith("must end in .yaml or .yml")
    (line,) = refused("calibrate", "--runs", runs, "-o", tmp_path / "none" / "x.yaml")
    assert "cannot be written" in line


def test_the_default_name_never_replaces_another_file(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("local.yaml").write_text("something: else\n")
    (line,) = refused("calibrate", "--runs", runs)
    assert line.startswith("output: local.yaml is there and is no local calibration")
    assert Path("local.yaml").read_text() == "something: else\n"
    Path("local.yaml").unlink()
    assert planner("calibrate", "--runs", runs).code == 0
    assert planner("calibrate", "--runs", runs).code == 0


def write(path: Path, **changes: Any) -> Path:
    """A small local calibration with changes; None takes a field out."""
    constant = {"value": 0.6, "unit": "1", "prior": 0.7, "sigma": 0.05, "n": 3}
    data = {
        "based_on": "default", "date": "2026-11-22", "chips": ["h100-sxm5-80"],
        "constants": {"gemm_efficiency": {"h100": constant}}, **changes,
    }  # fmt: skip
    path.write_text(dump_yaml({k: v for k, v in data.items() if v is not None}))
    return path


@each(("changes", "words"), [
    ({"based_on": None}, "based_on: is missing"),
    ({"based_on": "x"}, "based_on: calibration: unknown name 'x'"),
    ({"constants": {}}, "constants: is empty"),
    ({"constants": {"gemm_efficiency": {"h10": {"value": 1.0, "unit": "1", "prior": 1.0,
      "sigma": 0.1, "n": 1}}}}, "is no constant of default; did you mean 'gemm_efficiency.h100'"),
    ({"constants": {"memory_efficiency": {"value": 1.0, "unit": "s", "prior": 1.0, "sigma": 0.1,
      "n": 1}}}, "unit: 's' given, '1' required here"),
    ({"constants": {"memory_efficiency": {"value": -1.0, "unit": "1", "prior": 1.0, "sigma": 0.1,
      "n": 1}}}, "constants.memory_efficiency.value: -1: must be greater than 0"),
    ({"constants": {"memory_efficiency": 3}}, "constants.memory_efficiency.file: 3: must be"),
    ({"chips": []}, "chips: []: must have at least 1 entry"),
    ({"chip": "h100"}, "chip: unknown field; did you mean 'chips'?"),
])  # fmt: skip
def test_faults_of_a_local_calibration(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "bad.yaml", **changes)
    lines = refused(*SOLVE, "--calibration", path)
    assert any(words in line for line in lines), lines
    assert all("bad.yaml" in line for line in lines)


def test_another_file_and_roofline(local: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    assert planner(*SOLVE, "-o", plan).code == 0
    (line,) = refused(*SOLVE, "--calibration", plan)
    assert line.endswith("is a plan, not a local calibration")
    (line,) = refused(*SOLVE, "--calibration", local, "--assumptions", "roofline")
    assert line.startswith("calibration: has no effect under roofline")
    (line,) = refused(*SOLVE, "--calibration", tmp_path / "none.yaml")
    assert "cannot be read" in line


def test_overrides_come_after_it(local: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("site_factor: 2.0\n")
    flags = (*SOLVE, "--calibration", local, "--json")
    twice = planner(*flags, "--assumptions", path).document["best"]["step_time_s"]
    factor = content(local)["constants"]["site_factor"]["local"]["value"]
    assert twice == pytest.approx(planner(*flags).document["best"]["step_time_s"] * 2.0 / factor)
