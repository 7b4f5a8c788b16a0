"""A user's files of every kind: templates that can be read, and faults with their line."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, refused
from support.cases import each

from planner.evidence.csvfile import COMMENT
from planner.evidence.own_columns import TABLES
from planner.evidence.validation.answer import OF_FILES

OTHERS = [kind for kind in OF_FILES if kind != "runs"]


def template(kind: str) -> list[list[str]]:
    outcome = planner("validate", "--template", kind)
    assert outcome.code == 0, outcome.err
    return list(csv.reader(io.StringIO(outcome.out)))


def filled(kind: str, folder: Path, *changes: dict[str, str]) -> Path:
    """The template with its examples as rows, the first ones changed."""
    columns, _, *examples = template(kind)
    examples = [[row[0].removeprefix(COMMENT), *row[1:]] for row in examples]
    rows = [dict(zip(columns, row, strict=True)) for row in examples]
    for row, change in zip(rows, changes, strict=False):
        row.update(change)
    path = folder / f"{kind}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def document(kind: str, path: Path, *flags: str) -> Any:
    outcome = planner("validate", "--what", kind, "--data", path, "--json", *flags)
    assert outcome.code == 0, outcome.err
    return outcome.document


@each("kind", list(OF_FILES))
def test_the_examples_of_a_template_are_read_without_a_fault(kind: str, tmp_path: Path) -> None:
    columns, units, *examples = template(kind)
    assert all(units[at] for at in range(len(columns)))
    assert len(examples) == 3
    found = document(kind, filled(kind, tmp_path))
    assert (found["skipped"], found["notes"]) == ([], [])
    shown = planner("validate", "--what", kind, "--data", tmp_path / f"{kind}.csv")
    assert shown.code == 0, shown.err


@each("kind", list(OF_FILES))
def test_an_empty_template_has_no_rows(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(TABLES[kind].template(), encoding="utf-8")
    (line,) = refused("validate", "--what", kind, "--data", path)
    assert line == f"{path}: has no rows below its header"


@each("kind", list(OF_FILES))
def test_unknown_columns_are_named_with_the_nearest(kind: str, tmp_path: Path) -> None:
    path = filled(kind, tmp_path, {"source_": "x"})
    found = document(kind, path)
    assert found["notes"] == ["column 'source_' is not used; did you mean 'source'?"]
    out = planner("validate", "--what", kind, "--data", path).out
    assert "Warning: column 'source_' is not used" in " ".join(out.split())


FAULTS = [
    ("collectives", {"collective": "all_reduc"}, "did you mean 'all_reduce'?"),
    ("collectives", {"hardware": "h100-sxm5-81"}, "did you mean 'h100-sxm5-80'?"),
    ("collectives", {"hardware": "", "system": "mine"}, "system: 'mine' is not known"),
    ("collectives", {"network": "infinband"}, "did you mean 'infiniband'?"),
    ("collectives", {"inter_node_net": "Etherner"}, "did you mean 'Ethernet'?"),
    ("collectives", {"bytes": "many"}, "bytes: 'many' is not a number"),
    ("collectives", {"n_gpus": "1"}, "a collective has at least 2 members"),
    ("collectives", {"n_gpus": "2.5"}, "n_gpus: 2.5 is not a whole number"),
    ("collectives", {"time_us": ""}, "time_us: is empty, as are busbw and algbw"),
    ("collectives", {"time_us": "-1"}, "time_us: -1 is not positive"),
    ("microbench", {"chip": "h100-sxm5-81"}, "did you mean 'h100-sxm5-80'"),
    ("microbench", {"test": "gemm_fp61"}, "did you mean 'gemm_fp16'"),
    ("microbench", {"test": "attention"}, "test: 'attention' is neither gemm_bf16 nor stream"),
    ("microbench", {"unit": "TB/s"}, "unit: 'TB/s' is not one of TFLOP/s, GFLOP/s"),
    ("microbench", {"value": "1194"}, "exceeds the peak of a100-sxm4-80, 312"),
    ("microbench", {"k": ""}, "k: is empty"),
    ("energy", {"power_boundary": "rack"}, "power_boundary: 'rack' is not one of chip, node"),
    ("energy", {"cooling": "ice"}, "cooling: 'ice' is not one of air, liquid"),
    ("energy", {"busy_share": "90"}, "busy_share: 90 is above 1"),
    ("energy", {"power_limit_w": "200"}, "power_limit_w: 200 W is not in 350 W to 700 W"),
    ("energy", {"avg_power_w_per_chip": "6800"}, "a node has 8 chips"),
    ("failures", {"failed": "yes"}, "failed: 'yes' is not 0 or 1"),
    ("failures", {"tp": "3"}, "n_chips: 8 is not a multiple"),
    ("memory", {"peak_mem_gib_per_chip": "78848"}, "in MiB, it would be 77"),
    ("memory", {"inter_node_net": "pigeons"}, "inter_node_net: 'pigeons' is not understood"),
]


@pytest.mark.parametrize(("kind", "change", "words"), FAULTS)
def test_a_fault_is_named_with_its_line(
    kind: str, change: dict[str, str], words: str, tmp_path: Path
) -> None:
    again = {"id": "again", "failed": "0"} if kind == "failures" else {}
    path = filled(kind, tmp_path, change, again)
    (skipped,) = document(kind, path)["skipped"]
    assert (skipped["line"], skipped["is_fault"]) == (2, True)
    assert words in skipped["reason"]
    assert "Skipped: 1 row" in planner("validate", "--what", kind, "--data", path).out


@each("kind", OTHERS)
def test_rows_that_all_have_faults_leave_nothing(kind: str, tmp_path: Path) -> None:
    name = "chip" if kind == "microbench" else "hardware"
    path = filled(kind, tmp_path, *[{name: "b100", "system": "mine"}] * 3)
    first, *others = refused("validate", "--what", kind, "--data", path)
    assert first == f"{path}: no row is left"
    assert len(others) == 3


def test_failures_need_both_sides(tmp_path: Path) -> None:
    path = filled("failures", tmp_path, *[{"failed": "0"}] * 3)
    (line,) = refused("validate", "--what", "failures", "--data", path)
    assert line.endswith("has 0 rows that failed and 3 that ran; needs both")


def test_tables_of_own_files_say_what_is_known_alone(tmp_path: Path) -> None:
    """No split of published sources, no share of nothing, no three tables alike, no empty one."""
    path = filled("energy", tmp_path)
    assert "split" not in planner("validate", "--what", "energy", "--data", path).out
    assert {row["split"] for row in document("energy", path)["energy"]["power"]["rows"]} == {""}
    path = filled("failures", tmp_path)
    out = planner("validate", "--what", "failures", "--data", path).out
    assert "kept" not in out
    assert "Runs that ran and the default refuses" not in out
    assert re.search(r"0 to 40 GiB +0 +-$", out, re.MULTILINE)


def test_an_optimizer_may_be_written_as_it_is_printed(tmp_path: Path) -> None:
    path = filled("memory", tmp_path, *[{"optimizer": "AdamW"}] * 3)
    assert len(document("memory", path)["memory"]["rows"]) == 3


def test_published_rows_as_an_own_file_are_predicted_alike(tmp_path: Path) -> None:
    own = document("memory", filled("memory", tmp_path))["memory"]["rows"]
    published = planner("validate", "--what", "memory", "--json").document["memory"]["rows"]
    by_id = {row["id"]: row for row in published}
    for row in own:
        assert row["predicted_bytes"] == pytest.approx(by_id[row["id"]]["predicted_bytes"])


@each(
    ("flags", "words"),
    [
        (["--template", "run"], "did you mean 'runs'?"),
        (["--template", "runs", "--json"], "leave out the other options"),
        (["--template", "runs", "--what", "energy"], "leave out the other options"),
        (["--what", "all", "--data", "x.csv"], "--data is a file of one kind"),
        (["--what", "energy", "--source", "x"], "leave out --source and --calibration"),
        (["--what", "transfer", "--calibration", "x"], "the shipped constants; leave out --cal"),
        (
            ["--what", "energy", "--site-factors"],
            "site-factors: is of training runs, not of energy",
        ),
        (["--what", "failures", "--rules"], "rules: is of training runs, not of failures"),
        (["--what", "energy", "--data", "x.csv", "--assume-network"], "has no effect"),
    ],
)
def test_options_that_do_not_go_together(flags: list[str], words: str) -> None:
    (line,) = refused("validate", *flags)
    assert words in line
