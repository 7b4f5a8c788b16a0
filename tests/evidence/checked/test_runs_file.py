"""The file that `planner check -o` adds to: which row is of the run, and what stays as it was."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from support.cases import each

from evidence.calibration.launched import megatron_line
from planner.base.errors import InputError
from planner.evidence.checked import runs_file
from planner.evidence.checked.identity import run_key
from planner.evidence.checked.runs_file import add_row
from planner.evidence.csvfile import parse, read
from planner.evidence.own_columns import RUNS
from planner.evidence.training_logs.readers import read_log

ROW = {name: "" for name in RUNS.columns} | {
    "id": "train-1", "model_name": "llama3-8b", "hardware": "h100-sxm5-80", "n_chips": "16",
    "step_time_s": "1.25",
}  # fmt: skip


def line(end: str = "\n", **cells: str) -> str:
    """A row as another program may have written it: every cell in quotation marks."""
    return ",".join(f'"{cell}"' for cell in ({**ROW, **cells}).values()) + end


def log(seconds: Sequence[float], head: str = "") -> str:
    return head + "".join(megatron_line(step, each) for step, each in enumerate(seconds, 1))


def is_warm(text: str) -> bool:
    try:
        _, log = read_log(text, "log")
    except InputError:
        return False
    return log.longest > log.warm_up


key_of = partial(run_key, is_warm=is_warm)


def test_a_log_that_grows_is_of_one_run() -> None:
    times = [9.0, 2.0, 1.1, 1.2, 1.1, 1.3, *[1.1] * 30]
    head = "".join(f"  argument_{n} .... {n}\n" for n in range(50))
    keys = {key_of("train", log(times[:steps], head)) for steps in (6, 7, 12, 20, 36)}
    assert len(keys) == 1
    assert keys == {key_of("train", log(times, head).replace("\n", "\r\n"))}
    other = [*times[:3], 1.25, *times[4:]]
    for name, text in (
        ("train", log(other, head)),
        ("train", log(times, "[2026-03-17] " + head)),
        ("log", log(times, head)),
    ):
        assert key_of(name, text) not in keys
    assert not key_of("# train", log(times)).startswith("#")


@each(("end", "mark", "last"), [
    ("\n", "", "\n"), ("\r\n", "", "\r\n"), ("\n", "\ufeff", "\n"), ("\n", "", ""),
    ("\r", "", "\r"),
])  # fmt: skip
def test_all_other_records_stay_as_they_are(tmp_path: Path, end: str, mark: str, last: str) -> None:
    """Whatever they hold: breaks that are not ends of lines, cells of several lines, comments."""
    path = tmp_path / "runs.csv"
    odd = ["two\nlines", "a\u2028b\x0cc\x85d", "a\r\nb", 'a ""b""', " blanks ", "\x1c\x1d\u2029"]
    others = [line(end, id=f"run-{n}", flags=text) for n, text in enumerate(odd)]
    header = mark + ",".join(RUNS.columns) + end
    before = [
        header,
        f"# a note{end}",
        *others[:3],
        end,
        line(end),
        *others[3:],
        line(last, id="x"),
    ]
    path.write_bytes("".join(before).encode())
    (said,) = add_row(path, {**ROW, "step_time_s": "2.5"})
    assert "had 1 row of this run (step_time_s 1.25), which this one replaces" in said
    kept = "".join(one for one in before if one != line(end)) + ("" if last else end)
    text = path.read_bytes().decode()
    assert text.startswith(kept)
    assert text[len(kept) :] == ",".join({**ROW, "step_time_s": "2.5"}.values()) + end
    assert read(path)[1][-1].cells["step_time_s"] == "2.5"


def test_cells_that_a_check_does_not_know_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    assert add_row(path, ROW) == ()
    text = path.read_text()
    (_, (first,)) = parse(text, "runs.csv")
    filled = {**first.cells, "peak_mem_gib_per_chip": "61", "power_w_per_chip": "640", "vocab": "9"}
    path.write_text(text.splitlines()[0] + "\n" + ",".join(filled.values()) + "\n")
    (said,) = add_row(path, {**ROW, "step_time_s": "1.5"})
    assert said.endswith("it keeps vocab, peak_mem_gib_per_chip, power_w_per_chip")
    (_, (again,)) = read(path)
    assert again.cells == {**filled, "step_time_s": "1.5"}
    (said,) = add_row(path, {**ROW, "model_name": "llama3-70b", "peak_mem_gib_per_chip": "70"})
    (_, (again,)) = read(path)
    assert (again.cells["vocab"], again.cells["peak_mem_gib_per_chip"]) == ("", "70")
    assert said.endswith("it keeps power_w_per_chip")


def test_checks_at_once_lose_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has read the file before any has written it, were they not to wait for each other."""
    path, real = tmp_path / "runs.csv", runs_file.with_row
    add_row(path, {**ROW, "id": "first"})
    together = threading.Barrier(6)

    def slowly(*given: object) -> object:
        found = real(*given)  # type: ignore[arg-type]
        with suppress(threading.BrokenBarrierError):
            together.wait(0.05)
        return found

    monkeypatch.setattr(runs_file, "with_row", slowly)
    threads = [
        threading.Thread(target=add_row, args=(path, {**ROW, "id": f"run-{n}"})) for n in range(6)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {one.cells["id"] for one in read(path)[1]} == {"first", *(f"run-{n}" for n in range(6))}
    assert list(tmp_path.iterdir()) == [path]


def test_a_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    (said,) = add_row(tmp_path / "runs.csv", ROW)
    assert said.endswith("cannot be locked here: two checks that write it at once may lose a row")
    assert [one.name for one in tmp_path.iterdir()] == ["runs.csv"]


def test_a_file_of_something_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    for text, words in (("a,b\n1,2\n", "has other columns"), ('a,"b\n', "not a CSV file")):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            add_row(path, ROW)
        assert (path.read_text(), list(tmp_path.iterdir())) == (text, [path])
