"""Files that are read and files that are to be written, counted."""

from pathlib import Path

import pytest

from planner.base.apart import OverwriteError, check_apart, reading
from planner.base.files import read_text, write_atomically
from strict_yaml import inputs


def test_whichever_comes_second_is_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "a.yaml", tmp_path / "link.yaml"
    path.write_text("old", encoding="utf-8")
    link.symlink_to(path)
    line = f"^{link} is the file that is read; name another$"
    with inputs.counting():
        read_text(path)
        with pytest.raises(OverwriteError, match=line):
            write_atomically(link, "new")
    with inputs.counting():
        check_apart([("plot", link)])
        with pytest.raises(OverwriteError, match=f"^plot: {link} is the job file that is read"):
            reading(path, "job")
    assert path.read_text(encoding="utf-8") == "old"


def test_a_kind_and_a_flag_that_are_known_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with inputs.counting():
        for kind in ("", "plan", ""):
            inputs.read(path, kind)
        assert inputs.clash() == ""
        for flag in ("", "output", ""):
            inputs.written(path, flag)
        assert inputs.clash() == f"output: {path} is the plan file that is read; name another"


def test_old_content_of_what_is_written_may_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with inputs.counting():
        write_atomically(path, "a")
        with inputs.replacing():
            old = read_text(path)
        write_atomically(path, f"{old}b")
    assert path.read_text(encoding="utf-8") == "ab"


def test_what_is_updated_is_read_by_its_own_kind_alone(tmp_path: Path) -> None:
    path, link = tmp_path / "a.db", tmp_path / "a.svg"
    path.touch()
    link.symlink_to(path)

    def store() -> None:
        inputs.updated(path, "store", "output")

    def plot() -> None:
        inputs.written(link, "plot")

    def calibration() -> None:
        inputs.read(link, "calibration")

    for steps, said in (
        ([store, lambda: inputs.read(path, "store"), store], ""),
        ([lambda: inputs.read(path, "store"), store], ""),
        ([store, plot], f"plot: {link} is the store file that is read; name another"),
        ([plot, store], f"plot: {link} is the store file that is read; name another"),
        (
            [store, calibration],
            f"output: {path} is the calibration file that is read; name another",
        ),
        (
            [calibration, store],
            f"output: {path} is the calibration file that is read; name another",
        ),
    ):
        with inputs.counting():
            for step in steps:
                step()
            assert inputs.clash() == said


def test_nothing_is_counted_outside_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("old", encoding="utf-8")
    with inputs.counting():
        read_text(path)
    write_atomically(path, f"{read_text(path)} and new")
    assert path.read_text(encoding="utf-8") == "old and new"


def test_paths_that_no_file_can_have() -> None:
    with inputs.counting():
        inputs.read("a\0b")
        inputs.written("a\0c")
        assert inputs.clash() == ""
