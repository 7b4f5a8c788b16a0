"""Every mistake about a field of a file names its line and says what is expected."""

from pathlib import Path

from cli.command import refused


def written(folder: Path, text: str) -> Path:
    """A job file."""
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_mistake_has_its_line_and_says_what_is_expected(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "model: gpt3-125m\n\nchips: 8\ntime_limit: 1:30\noffload: on\n# more\nmax_powr: 3\n"
        "pools:\n  a: 1\n  b:\n    - 2\n",
    )
    lines = refused("solve", path, "--seq-len", "x")
    assert lines[:4] == [
        f"{path}: line 8: pools: 'b': [2] is not a number of chips",
        "seq-len: 'x' is not a number with a unit; write it like 4096, 3e6, 4Mi or 1.5T",
        f"{path}: line 5: offload: 'on': must be true or false",
        f"{path}: line 4: time_limit: '1:30' is not a number with a unit; write it like 90s, "
        "250ms, 2h or 30d",
    ]
    assert lines[4].startswith(f"{path}: line 7: max_powr: unknown field; did you mean 'max_power'")


def test_what_is_wrong_only_beside_the_other_fields_has_its_line_too(tmp_path: Path) -> None:
    path = written(tmp_path, "model: gpt3-125m\nchips: 8\n\nlora_rank: 4\n")
    assert refused("solve", path)[0].startswith(f"{path}: line 4: lora_rank: 4 has no effect")
    path = written(tmp_path, "model: gpt3-125m\nchips: 8\n\nhardware: gpu\nchips: 3\n")
    assert refused("solve", path) == [
        f"{path}: line 5: the key 'chips' occurs twice, first in line 2"
    ]
