"""Keys: the same question has the same one, whatever its names; another has another."""

from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from planner.base.errors import UnfinishedError
from planner.question.request import request_from
from planner.studies.sweep.question import keys
from planner.studies.sweep.question.keys import Keys, answering_version
from planner.studies.sweep.question.study import study_of

ROOT = Path(__file__).parents[3]
JOB: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}


def key(**fields: Any) -> str:
    return Keys().key(request_from({**JOB, **fields}))


def test_the_same_question_has_the_same_key() -> None:
    assert key(batch_tokens="1Mi") == key(batch_tokens=2**20) == key(batch_tokens=2.0**20)
    assert key(objective="time") == key()
    assert key(hardware="H100-SXM5-80") == key()


@each("changed", [{"chips": 16}, {"model": "gpt3-350m"}, {"hardware": "a100-sxm4-80"},
                  {"objective": "energy"}, {"set": ["memory.bandwidth=2x"]}, {"clocks": False},
                  {"max_memory": "60GB"}, {"fix": {"pp": [1]}}])  # fmt: skip
def test_another_question_has_another_key(changed: dict[str, Any]) -> None:
    assert key(**changed) != key()


def test_contents_of_files_count_and_not_their_names(tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    for path in (one, other):
        path.write_text("preset: calibrated\nstep_overhead_s: 0.1\n", encoding="utf-8")
    first = key(assumptions=str(one))
    assert key(assumptions=str(other)) == first
    other.write_text("preset: calibrated\nstep_overhead_s: 0.2\n", encoding="utf-8")
    assert key(assumptions=str(other)) != first


def test_a_changed_file_makes_another_study(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    study = study_of({**JOB, "assumptions": str(path)}, cross={"seq_len": [1024]})
    found = []
    for text in ("preset: calibrated\n", "preset: roofline\n"):
        path.write_text(text, encoding="utf-8")
        found.append(Keys().of_study(study))
    assert found[0] != found[1]


def test_the_version_is_that_of_what_answers() -> None:
    files = {name for name, _ in keys._answering()}
    recipes = "planner/question/recipes/recipes.yaml"
    assert {"planner/cost/step.py", "solvers/mesh.py", recipes} <= files
    assert any(name.startswith("hardware_db/data/calibration/") for name in files)
    kept = "planner/studies/sweep/kept.py"
    assert kept in files, "what is kept of an answer changes what a store has"
    others = ("planner/cli/", "planner/report/", "planner/studies/", "models_db/data/",
              "hardware_db/data/chips/")  # fmt: skip
    assert [name for name in files if name.startswith(others) or "__pycache__" in name] == [kept]
    assert answering_version().startswith("0.1.0+")


def test_packages_that_add_to_the_planner_are_part_of_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what is beside them; a file of theirs that changed counts."""

    monkeypatch.syspath_prepend(tmp_path)

    def version(name: str, group: str, content: str) -> str:
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n", encoding="utf-8")
        points = f"[{group}]\nacme = {name}_of_test.plans:Acme\n"
        (folder / "entry_points.txt").write_text(points, encoding="utf-8")
        package = tmp_path / f"{name}_of_test"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / "plans.py").write_text(content, encoding="utf-8")
        monkeypatch.setattr(keys, "distributions", lambda: [PathDistribution(folder)])
        return answering_version.__wrapped__()

    beside = version("other", "pytest11", "a = 1")
    first = version("acme", "planner.frameworks", "a = 1")
    assert first != beside
    assert version("acme", "planner.frameworks", "a = 2") != first
    assert version("other", "pytest11", "a = 2") == beside


def test_the_version_knows_which_file_holds_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that moved from one module to the next, or a module of another name, is another one."""

    def version(**files: str) -> str:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        there = [(f"planner/{name}.py", tmp_path / name) for name in files]
        monkeypatch.setattr(keys, "_answering", lambda: there)
        return answering_version.__wrapped__()

    found = [version(a="one\n", b="two\n"), version(a="one\ntwo\n", b=""), version(a="one\ntwo\n"),
             version(c="one\ntwo\n")]  # fmt: skip
    assert len({*found}) == 4


def test_a_file_that_changes_between_two_questions_ends_the_run(tmp_path: Path) -> None:
    """They would be kept as of one content."""
    cluster, like = tmp_path / "cluster.yaml", tmp_path / "like.yaml"
    text = (ROOT / "hardware_db/data/examples/my-cluster.yaml").read_text(encoding="utf-8")
    cluster.write_text(text, encoding="utf-8")
    like.write_text("{like: cluster.yaml, name: mine}\n", encoding="utf-8")
    found = Keys()
    found.key(request_from({**JOB, "hardware": str(cluster)}))
    other = request_from({**JOB, "hardware": str(like)})
    cluster.write_text(f"{text}\n# edited\n", encoding="utf-8")
    with pytest.raises(UnfinishedError, match="changes while it is read"):
        found.key(other)
