"""Only what a standard stream does not take is said of it; other failures are defects."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from planner.cli import main
from planner.cli.streams import StreamError, prepare_streams


@pytest.mark.parametrize(
    "error", [OSError("Invalid data stream"), BrokenPipeError(32, "Broken pipe")]
)
def test_a_failure_elsewhere_is_not_taken_for_that_of_a_stream(
    monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def fail(_: list[str]) -> int:
        raise error

    monkeypatch.setattr(main, "_run", fail)
    with pytest.raises(type(error)):
        main._guarded([])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_stream_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, name, full)
        prepare_streams()
        with pytest.raises(StreamError, match=os.strerror(28)) as raised:
            print("a" * 100_000, file=getattr(sys, name), flush=True)
        main._unheard(raised.value)
        getattr(sys, name).flush()
    assert raised.value.stream == {"stdout": "standard output", "stderr": "standard error"}[name]
    assert not raised.value.left
