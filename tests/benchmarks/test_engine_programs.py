"""Programs that run another engine's own code: what they answer, and what is said of failures."""

from pathlib import Path

import pytest
from support.engines import engine

DRIVER = """
import json, sys
asked = json.loads(sys.argv.pop())
print("said on the way")
print(json.dumps({"arguments": sys.argv[1:], "asked": asked}))
"""


def test_the_last_line_is_the_answer() -> None:
    found = engine("programs").answered("Metis", DRIVER, ["--gbs=4"], {"plan": [1, 2]})
    assert found == {"arguments": ["--gbs=4"], "asked": {"plan": [1, 2]}}


def test_a_program_that_fails_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"^Metis failed: ValueError: no plan$"):
        engine("programs").answered("Metis", "raise ValueError('no plan')", [], {})


def test_a_source_that_does_not_compile_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text('#!/bin/sh\necho "$4: no such file" >&2\nexit 1\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(RuntimeError, match=r"^Piper does not compile: piper\.cpp: no such file$"):
        engine("programs").compiled("Piper", ["-Ihere"], Path("piper.cpp"), tmp_path / "piper")
