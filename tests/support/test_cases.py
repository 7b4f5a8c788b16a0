"""`support.cases.each` runs every case, whatever failed before; one that fails fails the test."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from support.cases import each


def test_all_combinations_run_and_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []

    @each("seed", range(3))
    @each(("a", "b"), [(1, 2), (3, 4)])
    def check(seed: int, a: int, b: int, base: int) -> None:
        seen.append((seed, a, b, base))

    assert list(inspect.signature(check).parameters) == ["base"]
    check(base=7)
    assert seen == [(seed, a, b, 7) for seed in range(3) for a, b in ((1, 2), (3, 4))]
    assert capsys.readouterr().out == "6 cases\n"


def test_every_case_that_fails_is_named() -> None:
    @each("seed", range(9))
    def check(seed: int) -> None:
        if seed == 4:
            with pytest.raises(ValueError, match="never"):
                pass
        assert seed % 5, "a multiple of five"

    with pytest.raises(BaseExceptionGroup, match="3 of 9 cases fail") as caught:
        check()
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["seed=0"], ["seed=4"], ["seed=5"],
    ]  # fmt: skip


def test_no_cases_are_a_failure() -> None:
    @each("seed", [])
    def check(seed: int) -> None:
        """Never called."""

    with pytest.raises(AssertionError, match="no cases"):
        check()


def test_each_case_has_a_folder_of_its_own(tmp_path: Path) -> None:
    @each("seed", range(3))
    def check(seed: int, tmp_path: Path) -> None:
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "file").write_text(str(seed), encoding="utf-8")

    check(tmp_path=tmp_path)
    assert sorted(path.read_text("utf-8") for path in tmp_path.rglob("file")) == ["0", "1", "2"]


def test_a_case_that_is_skipped_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    @each("seed", range(3))
    def check(seed: int) -> None:
        if seed == 0:
            pytest.skip("without a tool")
        assert seed != 2

    with pytest.raises(BaseExceptionGroup, match="1 of 3 cases fail"):
        check()
    assert capsys.readouterr().out == "3 cases, 1 of them skipped\n"


def test_where_all_cases_are_skipped_the_test_is() -> None:
    @each("seed", range(3))
    def check(seed: int) -> None:
        pytest.skip("without a tool")

    with pytest.raises(pytest.skip.Exception, match="without a tool"):
        check()
