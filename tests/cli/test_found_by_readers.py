"""What those who read the code and tried to break it found, a case of each class."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, refused
from planner.base.files import write_all

FORMATS = Path(__file__).parents[1] / "formats"
PLAN = FORMATS / "plan-1.yaml"


@each("rows", ["0", "-1", "9" * 30, "9" * 400])
def test_a_table_has_a_number_of_rows(rows: str) -> None:
    """One once ended in a ValueError: no number of the machine."""
    (line,) = refused("sweep", "table", FORMATS / "store-1.db", "--rows", rows)
    assert line.startswith("rows: ")
    assert "is not a whole number from 1 to 1,000,000,000" in line


def test_a_name_is_never_part_of_a_command(tmp_path: Path) -> None:
    """What is offered for copying once held the words of a file as they stood in it."""
    path = tmp_path / "a$(touch b).db"
    shutil.copy(FORMATS / "store-1.db", path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = 'x.yaml; touch c' WHERE name = 'file'")
        database.execute("DELETE FROM result")
    database.close()
    said = " ".join(planner("sweep", "status", path).out.split())
    assert f"planner sweep run 'x.yaml; touch c' -o '{path}'" in said
    plan = tmp_path / "p;touch d.yaml"
    asked = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 1)
    assert planner("solve", *asked, "-o", plan).code == 0
    assert "planner evaluate 'p;touch d.yaml'" in plan.read_text(encoding="utf-8")
    answer = tmp_path / "a;touch e"
    shutil.copy(PLAN, answer)
    assert f"planner evaluate '{answer}' --plot" in refused("report", answer)[0]


@each("calls", [1, 2, 3])
@each("error", [KeyboardInterrupt, SystemExit])
def test_a_signal_during_the_last_clean_up_leaves_nothing(
    calls: int, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.unlink, [calls]

    def unlink(path: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise error
        real(path)

    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(error):
        write_all(dict.fromkeys(paths, "new"))
    monkeypatch.undo()
    assert sorted(tmp_path.iterdir()) == paths
    assert len({path.read_text(encoding="utf-8") for path in paths}) == 1
