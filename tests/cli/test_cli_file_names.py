"""Files of names that are hard to say: those that a question names, and those of plans."""

import os
from pathlib import Path
from subprocess import run

import pytest
from support.cases import each

import models_db
from cli.command import planner, refused

SMALL = ("--hardware", "dgx-h100-ndr", "--chips", 8)
UNSAID = os.fsdecode(b"m\xff")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_bytes(
        Path(models_db.__file__).with_name("data").joinpath("gpt3-125m.yaml").read_bytes()
    )
    return tmp_path


@each("field", ["model", "hardware", "assumptions", "calibration", "failure-site", "pools"])
def test_a_file_that_no_plan_can_name_is_refused(here: Path, field: str) -> None:
    """Also where a file that can be named stands where its name would lead to."""
    for name in (f"{UNSAID}.yaml", "m\ufffd.yaml"):
        (here / name).write_bytes((here / "m.yaml").read_bytes())
    value = f"{UNSAID}.yaml" + "=8,dgx-h100-ndr=8" * (field == "pools")
    given = {"--model": "gpt3-125m", "--chips": 8, f"--{field}": value}
    if field == "pools":
        del given["--chips"]
    said = refused("solve", *(word for pair in given.items() for word in pair))
    assert said == [
        f"{'hardware' if field == 'pools' else field}: "
        f"{here}/m\\udcff.yaml: its name is not UTF-8, which no plan can say; rename it"
    ]


def test_a_name_that_leads_to_such_a_file_is_refused(here: Path) -> None:
    (here / f"{UNSAID}.yaml").write_bytes((here / "m.yaml").read_bytes())
    (here / "link.yaml").symlink_to(f"{UNSAID}.yaml")
    (here / "m\ufffd.yaml").write_bytes((here / "m.yaml").read_bytes())
    assert "its name is not UTF-8" in refused("solve", "--model", "link.yaml", *SMALL)[0]
    assert planner("solve", "--model", "m\ufffd.yaml", *SMALL).code == 0


@each("name", ["\x1b[31mred", "\x01", "\x7f", "a\x9b'b", "\ufffe", "a\nb", UNSAID, "a b\\c", "é"])
def test_a_plan_of_any_name_can_be_read_as_it_says(here: Path, name: str) -> None:
    assert planner("solve", "--model", "m.yaml", *SMALL, "-o", f"{name}.yaml").code == 0
    text = (here / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.isprintable() or {c for c in text if not c.isprintable()} == {"\n"}
    assert planner("evaluate", f"{name}.yaml").code == 0
    word = text.partition("planner evaluate ")[2].partition("\n")[0]
    found = run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert os.fsdecode(found) == f"{name}.yaml"
    assert word.startswith("$'") != name.isprintable()
