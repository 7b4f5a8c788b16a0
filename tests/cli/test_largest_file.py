"""A file that is too large is refused with the limit and the option that raises it."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.cases import each

from cli.command import planner, refused
from planner.base.files import read_bytes
from strict_yaml.limits import VARIABLE, larger_than, largest

FILES = Path(__file__).parents[1] / "answers" / "files"
JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")
MIB = 2**20
HINT = "; --largest-file SIZE (or PLANNER_LARGEST_FILE_BYTES) allows more"


def padded(name: str, size: int, comment: bytes = b"# ") -> bytes:
    """A kept file with a comment of so many bytes."""
    return (FILES / name).read_bytes() + b"\n" + comment + b"x" * size + b"\n"


def plan() -> bytes:
    return (FILES.parents[1] / "formats" / "plan-1.yaml").read_bytes()


def packed_rows() -> bytes:
    head, *_ = (FILES / "gemm.csv").read_bytes().splitlines()
    return gzip.compress(head + b"\n" * (11 * MIB))


def array() -> bytes:
    return b"\x93NUMPY" + np.zeros(11 * MIB, dtype=np.uint8).tobytes()


# A file, its content, the command that reads it, and the limit.
READERS: list[tuple[str, bytes, tuple[str, ...], str]] = [
    ("m.yaml", padded("my-model.yaml", MIB), ("models", "show", "FILE"), "256 KiB"),
    ("h.yaml", padded("my-cluster.yaml", 2 * MIB), ("hardware", "show", "FILE"), "1 MiB"),
    ("p.yaml", plan() + b"# " + b"x" * 11 * MIB, ("evaluate", "FILE"), "10 MiB"),
    ("config.json", b" " * 11 * MIB, ("models", "import", "FILE", "--name", "x"), "10 MiB"),
    ("train.sh", b"#" * 11 * MIB, ("models", "import", "FILE", "--name", "x"), "10 MiB"),
    ("model.py", b"#" * 5 * MIB, ("models", "import", "FILE", "--name", "x"), "4 MiB"),
    ("run.sh", b"#" * 2 * MIB, ("evaluate", "--from", "megatron", "FILE", *JOB), "1 MiB"),
    ("r.json", b" " * 11 * MIB, ("report", "FILE", "-o", "x.html"), "10 MiB"),
    ("g.csv", b"x" * 11 * MIB, ("calibrate", "--hardware", "h100-sxm5-80", "--gemm", "FILE"),
     "10 MiB"),
    ("g.csv.gz", packed_rows(), ("validate", "--data", "FILE"), "10 MiB"),
    ("t.npy", array(), ("rack", "topology", "ring:8", "--traffic", "FILE"), "10 MiB"),
    ("g.json", b" " * 11 * MIB, ("rack", "topology", "--graph", "FILE"), "10 MiB"),
    ("s.json", b" " * 11 * MIB, ("collective", "simulate", "FILE"), "10 MiB"),
    ("s.xml", b" " * 11 * MIB, ("collective", "simulate", "FILE"), "10 MiB"),
    ("study.yaml", b"#" * 11 * MIB, ("sweep", "run", "FILE", "--dry-run"), "10 MiB"),
    ("fleet.yaml", b"#" * 11 * MIB, ("fleet", "FILE"), "10 MiB"),
    ("job.yaml", b"#" * 11 * MIB, ("solve", "FILE"), "10 MiB"),
]  # fmt: skip

RAISED = ("h.yaml", "config.json", "run.sh", "g.csv", "t.npy")


@each(("name", "content", "command", "limit"), READERS)
def test_a_limit_is_named_with_what_raises_it(
    name: str, content: bytes, command: tuple[str, ...], limit: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    words = [path if word == "FILE" else word for word in command]
    (line,) = refused(*words)
    assert f"larger than {limit}{HINT}" in line, line
    if name in RAISED:
        raised = planner(*words, "--largest-file", "30MB")
        assert HINT not in raised.err, raised.err
        assert raised.code in (0, 2)
        assert VARIABLE not in os.environ


def test_what_was_too_large_is_read_as_it_would_be(tmp_path: Path) -> None:
    small, large = tmp_path / "small.yaml", tmp_path / "large.yaml"
    small.write_bytes((FILES / "my-model.yaml").read_bytes())
    large.write_bytes(padded("my-model.yaml", MIB))
    shown = [
        planner("--largest-file=2MiB", "models", "show", path, "--json") for path in (small, large)
    ]
    assert [one.code for one in shown] == [0, 0]
    assert shown[0].document == shown[1].document
    (line,) = refused("--largest-file", "1MB", "models", "show", large)
    assert line.endswith(f"larger than 1,000,000 bytes{HINT}")


@each(("size", "words"), [
    ("x", "largest-file: 'x' is not a number with a unit; write it like 80GB or 74.5GiB"),
    ("0", "largest-file: '0' is not from 1 byte to 1 EB"),
    ("1e30", "largest-file: '1e30' is not from 1 byte to 1 EB"),
    ("-5MB", "largest-file: '-5MB' is not from 1 byte to 1 EB"),
    ("5MX", "largest-file: unknown unit 'MX' in '5MX'; write 80GB or 74.5GiB"),
    ("", "largest-file: '' is not a number with a unit; write it like 80GB or 74.5GiB"),
])  # fmt: skip
def test_a_size_that_is_none(size: str, words: str) -> None:
    assert refused("models", "show", "gpt3-125m", "--largest-file", size) == [words]


def test_a_size_of_the_environment_is_named_as_it_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "abc")
    words = "'abc' is not a number with a unit; write it like 80GB or 74.5GiB"
    assert refused("models", "list") == [f"{VARIABLE}: {words}"]
    assert refused("models", "list", "--largest-file", "abc") == [f"largest-file: {words}"]


@each(("first", "second"), [
    (("--largest-file", "1MB"), ("--largest-file", "2MB")),
    (("--largest-file=1MB",), ("--largest-file=1MB",)),
    (("--log-level", "info"), ("--log-level=debug",)),
])  # fmt: skip
def test_options_of_every_command_are_given_once(
    first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    name, command = first[0].lstrip("-").partition("=")[0], ("models", "list")
    for words in ((*first, *second, *command), (*first, *command, *second)):
        assert refused(*words) == [f"{name}: is given twice; give one value"]


def test_the_environment_says_it_too(tmp_path: Path) -> None:
    """To processes that another one starts, and to programs in Python."""
    path = tmp_path / "m.yaml"
    path.write_bytes(padded("my-model.yaml", MIB))
    words = [sys.executable, "-m", "planner", "models", "show", str(path), "--json"]
    done = subprocess.run(
        words, env={**os.environ, VARIABLE: "2MB"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["name"]


def test_a_setting_that_is_no_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert largest(10) == 10
    monkeypatch.setenv(VARIABLE, "20")
    assert (largest(10), largest(30)) == (20, 30)
    path = tmp_path / "x"
    path.write_bytes(b"x" * 21)
    monkeypatch.setenv(VARIABLE, "2MB")
    with pytest.raises(ValueError, match="2MB' is no number of bytes"):
        largest(10)
    with pytest.raises(Exception, match=r"x: cannot be read \(planner_largest_file_bytes: '2mb'"):
        read_bytes(path)


@each(("limit", "words"), [(2**20, "1 MiB"), (3 * 2**10, "3 KiB"), (1000, "1,000 bytes")])
def test_how_a_limit_is_said(limit: int, words: str) -> None:
    assert larger_than(limit) == f"larger than {words}{HINT}"
