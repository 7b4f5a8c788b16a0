"""`planner collective simulate` and `export`: files of schedules, slow links, renumbering."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schedule of the DGX-1 in both formats."""
    folder = tmp_path_factory.mktemp("schedules")
    asked = ("--topology", "dgx1", "--chunks", 2, "--steps", 2)
    for name in ("one.json", "one.xml"):
        outcome = planner("collective", "export", *asked, "-o", folder / name)
        assert outcome.code == 0, outcome.err
    return folder


def answer(*arguments: object) -> Any:
    outcome = planner("collective", *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return outcome.document


@each("name", ["one.json", "one.xml"])
def test_a_schedule_is_read_back_and_run(saved: Path, name: str) -> None:
    found = answer("simulate", saved / name, "--sizes", "1KB,64KB")
    (run,) = found["schedules"]
    assert (run["chunks"], run["steps"], run["rounds"]) == (2, 2, 3)
    formula = [2 * 0.7e-6 + 1.5 * size / 25e9 for size in (1e3, 64e3)]
    assert run["synchronous_s"] == pytest.approx(formula)
    assert run["formula_s"] == pytest.approx(formula)


def test_an_algorithm_without_rates_is_on_no_machine(saved: Path) -> None:
    """MSCCL's files name a topology, but say nothing of its links."""
    machine = answer("simulate", saved / "one.xml", "--sizes", "1KB")["machine"]
    assert machine["topology"] == "the links of one.xml"
    assert machine["notes"][0] == (
        "an MSCCL file has no rates: all links are alike here, whatever those of dgx-1 are; name "
        "the machine with --topology or --graph"
    )
    for more in ((saved / "one.xml", "--topology", "dgx-1"), (saved / "one.json",)):
        machine = answer("simulate", *more, "--sizes", "1KB")["machine"]
        assert machine["topology"] == "dgx-1"
        assert not any("no rates" in note for note in machine["notes"])


def test_a_file_on_another_machine(saved: Path) -> None:
    """What runs on a DGX-1 runs on eight chips that are all joined."""
    found = answer("simulate", saved / "one.json", "--topology", "dgx1", "--bandwidth", "50GB/s",
                   "--sizes", "1MB")  # fmt: skip
    (run,) = found["schedules"]
    assert run["synchronous_s"] == pytest.approx([2 * 0.7e-6 + 1.5 * 1e6 / 50e9])


def test_a_file_that_does_not_fit_the_machine_names_both(saved: Path) -> None:
    lines = refused("collective", "simulate", saved / "one.json", "--topology", "ring:8")
    (line,) = lines
    assert "one.json: was made for dgx-1, not for ring:8: ring:8 does not have" in line


def test_a_renumbered_file_on_its_own_machine(tmp_path: Path) -> None:
    """GPUs as the driver numbers them: the links are the same, their numbers are not."""
    file = tmp_path / "driver.json"
    outcome = planner("collective", "export", "--topology", "dgx1", "--chunks", 2, "--steps", 2,
                      "--ranks", "0,3,1,2,4,7,5,6", "-o", file)  # fmt: skip
    assert outcome.code == 0, outcome.err
    (line,) = refused("collective", "simulate", file, "--topology", "dgx1")
    assert line.endswith(
        "driver.json: its links are those of dgx-1 in another numbering; give --numbering "
        "nvidia-smi, or no --topology"
    )
    for more in (("--topology", "dgx1", "--numbering", "nvidia-smi"), ()):
        (run,) = answer("simulate", file, *more, "--sizes", "1MB")["schedules"]
        assert run["synchronous_s"] == pytest.approx([2 * 0.7e-6 + 1.5 * 1e6 / 25e9])


def test_a_file_that_breaks_a_rule_names_the_send(saved: Path, tmp_path: Path) -> None:
    data = json.loads((saved / "one.json").read_text(encoding="utf-8"))
    data.pop("digest")
    step, source, target, _, reduces = data["sends"][0]
    data["sends"][0] = [step, source, target, 2 * ((source + 3) % 8), reduces]
    (tmp_path / "wrong.json").write_text(json.dumps(data), encoding="utf-8")
    lines = refused("collective", "simulate", tmp_path / "wrong.json")
    assert "wrong.json: sends: entry 0 (step 0" in lines[0]


def test_a_file_has_its_own_collective(saved: Path) -> None:
    (line,) = refused("collective", "simulate", saved / "one.json", "--collective", "alltoall")
    assert line.startswith("collective: the file ")


def test_what_a_slow_link_costs_and_what_is_bought_back() -> None:
    found = answer("simulate", "--topology", "dgx1", "--degrade", "0-2=0.25", "--sizes", "64MB")
    rows = {row["what"]: row for row in found["changed"]["rows"]}
    assert list(rows) == ["healthy", "oblivious", "re-synthesized", "lower bound"]
    assert rows["oblivious"]["over_healthy"][0] > 3.8
    assert rows["re-synthesized"]["over_healthy"][0] == pytest.approx(8 / 7, rel=1e-3)
    assert rows["lower bound"]["over_healthy"][0] == pytest.approx(8 / 7, rel=1e-3)


@each(
    ("flags", "message"),
    [
        (("--degrade", "0-2"), "degrade: '0-2': write it like 0-2=0.25"),
        (
            ("--degrade", "0-1=2"),
            "that is left is from 0 .failed. to 1, e.g. 0.25 or 25%",
        ),
        (("--degrade", "0-1=nan"), "bandwidth that is left is from 0"),
        (("--degrade", "0-1=0.5", "--degrade", "1-0=25%"), "degrade: 0-1: is given twice"),
        (("--degrade", "0-1=0.5", "--fail", "1-0"), "fail: 0-1: is given twice"),
        (("--fail", "0-3"), "fail: ring:4 has no link 0-3|fail: "),
        (("--fail", "0-9"), "no chip '9'"),
        (("--mode", "dependant"), "mode: 'dependant' is not one of .*did you mean 'dependent'"),
        (("--sizes", "1KB..nan"), "sizes"),
    ],
)
def test_bad_input(flags: tuple[str, ...], message: str) -> None:
    import re  # noqa: PLC0415

    where = ("linear:4",) if "--fail" in flags else ("ring:4",)
    lines = refused("collective", "simulate", "--topology", *where, *flags)
    assert re.search(message.replace("ring:4", where[0]), lines[0]), lines


def test_ranks_are_renumbered_to_the_drivers(saved: Path, tmp_path: Path) -> None:
    """SCCL's DGX-1 under the map of the database is the driver's."""
    target = tmp_path / "driver.json"
    found = answer("export", saved / "one.json", "--ranks", "0,3,1,2,4,7,5,6", "-o", target)
    assert found["order"] == [0, 3, 1, 2, 4, 7, 5, 6]
    outcome = planner(
        "collective", "simulate", target, "--topology", "dgx-1", "--numbering", "nvidia-smi",
        "--sizes", "1KB",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err


def test_an_algorithm_of_msccl_is_run_before_it_is_written(saved: Path) -> None:
    text = (saved / "one.xml").read_text(encoding="utf-8")
    assert text.startswith("<algo")
    found = answer("export", saved / "one.xml", "-o", saved / "again.xml")
    assert "interpreter" in found["checked"]
    assert found["thread_blocks"] >= 8


def test_nothing_is_written_where_the_export_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "x.xml"
    (line,) = refused("collective", "export", "--topology", "ring:4", "--protocol", "LL12",
                      "-o", target)  # fmt: skip
    assert "protocol: 'LL12' is not one of" in line
    assert not target.exists()
    assert refused("collective", "export", "--topology", "ring:4") == [
        "output: is missing; name a file, e.g. -o allgather.xml"
    ]
