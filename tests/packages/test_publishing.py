"""What is published agrees with itself: versions, Pythons, extras, the image of a container."""

import re
import tomllib
from pathlib import Path

import planner

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHON = "Programming Language :: Python :: "
EXTRAS = [
    "browser", "chakra", "dataframe", "dev", "docs", "jobqueue", "mutation", "sweep", "test", "viz",
]  # fmt: skip


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pythons() -> list[str]:
    """Those that the metadata name, which `.ci/versions.md` says were tried."""
    names = [line.removeprefix(PYTHON) for line in PROJECT["classifiers"] if PYTHON in line]
    return [name for name in names if re.fullmatch(r"3\.\d+", name)]


def test_one_version() -> None:
    assert PROJECT["version"] == planner.__version__
    assert f"\nversion: {planner.__version__}\n" in read("CITATION.cff")


def test_pythons_that_are_named_were_tried() -> None:
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert pythons()[0] == lowest
    assert f"only Python {lowest} or newer" in read("README.md")
    tried = read(".ci/versions.md")
    for name in pythons():
        row = rf"^\| {re.escape(name)}\.\d+ \| lowest \| passed"
        assert re.search(row, tried, re.MULTILINE), f"{name}: run .ci/versions"


def test_lowest_versions_are_those_that_were_tried() -> None:
    tried = read(".ci/versions.md")
    for line in PROJECT["dependencies"]:
        name, _, version = line.partition(">=")
        assert f"`{name} {version}`" in tried, f"{line}: run .ci/versions"


def test_extras_are_few_and_said() -> None:
    assert sorted(PROJECT["optional-dependencies"]) == EXTRAS
    line = next(line for line in read("CONTRIBUTING.md").splitlines() if "The extras" in line)
    assert sorted(re.findall(r"`(\w+)`", line)) == EXTRAS


def test_licences_lie_where_the_metadata_say() -> None:
    for name in (*PROJECT["license-files"], PROJECT["readme"]):
        assert (ROOT / name).is_file()


def test_a_container_is_slim_has_the_wheel_alone_and_is_not_root() -> None:
    lines = read("Containerfile").splitlines()
    asked = [line for line in lines if line and not line.startswith("#")]
    (version,) = re.findall(r"ARG PYTHON=(.*)", "\n".join(asked))
    assert version in pythons()
    bases = [line for line in asked if line.startswith("FROM")]
    assert all(line.split()[1] == "python:${PYTHON}-slim" for line in bases)
    user = [line for line in asked if line.startswith("USER")][-1]
    assert int(user.split()[1].partition(":")[0]) > 0
    assert asked.index(user) > asked.index(bases[-1])
    copied = [line for line in asked if line.startswith("COPY") and "--from" not in line]
    assert copied == ["COPY dist/*.whl /wheel/"]
    context = read(".dockerignore").splitlines()
    assert [line for line in context if not line.startswith("#")] == ["*", "!dist/*.whl"]
