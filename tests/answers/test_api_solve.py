"""`planner.solve` and `planner.evaluate`: the objects, and the same answers as the command line."""

import dataclasses
import itertools
import json
import time
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import solve as by_flags
from support.cases import each

import planner
from planner.objectives import ENERGY, MEMORY, TIME
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

ASKED: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}
EVERY: dict[str, Any] = {"runnable_in": "any", "max_oom_risk": 1}
FLAGS = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")


@pytest.fixture(scope="module")
def answer() -> SolveResult:
    """The answer to a small question."""
    return planner.solve(**ASKED)


def test_the_objects(answer: SolveResult) -> None:
    assert isinstance(answer, SolveResult)
    assert isinstance(answer.best, PlanResult)
    assert isinstance(answer.best.plan, planner.Plan)
    assert answer.best.chips == answer.best.plan.chips == 8
    assert answer.status == "optimal"
    assert answer.gap == 0.0
    assert all(isinstance(point, PlanResult) for point in answer.front)


def test_the_command_line_says_the_same(answer: SolveResult) -> None:
    document = by_flags(*FLAGS)
    mine = json.loads(json.dumps(answer.to_dict()))
    for one in (mine, document):
        one["candidates"].pop("seconds")
        one.pop("digest")  # which is of the seconds too
    assert mine == document


def test_the_answer_is_json_and_prints(answer: SolveResult) -> None:
    json.dumps(answer.to_dict(), allow_nan=False)
    html = answer._repr_html_()
    assert "gpt3-125m" in html
    assert "optimal" in html


def test_results_are_immutable(answer: SolveResult) -> None:
    assert answer.best is not None
    for thing, name in (
        (answer, "front"),
        (answer.certificate, "status"),
        (answer.best, "mfu"),
        (answer.best.plan, "dp"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 0)
    with pytest.raises((AttributeError, TypeError)):
        answer.best.invented = 1  # type: ignore[attr-defined]


def test_the_parts_of_a_result_cannot_be_changed_either() -> None:
    """A frozen record with mutable dictionaries inside is frozen in name only."""
    answer = planner.solve(**ASKED)
    assert answer.best is not None
    with pytest.raises(TypeError):
        answer.best.time_s["compute"] = 0.0
    with pytest.raises(TypeError):
        answer.question.job["chips"] = 0


def test_evaluating_the_best_plan_gives_its_costs(answer: SolveResult) -> None:
    assert answer.best is not None
    again = planner.evaluate(answer.best.plan, **ASKED)
    assert isinstance(again, EvaluateResult)
    assert again.result == answer.best
    assert again.fits
    assert again.warnings == ()
    for point in answer.front:
        assert planner.evaluate(point.plan, **{**ASKED, "chips": point.chips}).result == point


@each("chips", [7, 64])
def test_chips_that_contradict_the_plan_are_refused_as_in_a_file(
    chips: int, tmp_path: Path
) -> None:
    words = f"chips: {chips} contradicts the mesh of the plan, which uses 8"
    plan = planner.Plan(dp=8)
    with pytest.raises(planner.InputError) as caught:
        planner.evaluate(plan, **{**ASKED, "chips": chips})
    assert str(caught.value) == words
    path = tmp_path / "plan.yaml"
    path.write_text(
        f"schema_version: 1\njob: {{model: gpt3-125m, chips: {chips}}}\nplan: {{mesh: {{dp: 8}}}}",
        encoding="utf-8",
    )
    with pytest.raises(planner.InputError) as caught:
        planner.evaluate(path)
    assert str(caught.value) == f"{path}: line 2: job.{words}"


def test_evaluate_takes_a_path_as_text_or_path(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    by_flags(*FLAGS, "-o", path)
    one, other = planner.evaluate(path), planner.evaluate(str(path))
    assert one == other
    faster = planner.evaluate(path, hardware="h200-sxm5-141")
    assert faster.question.job["chip"] == "h200-sxm5-141"


def test_evaluate_renders_in_a_notebook(answer: SolveResult) -> None:
    assert answer.best is not None
    again = planner.evaluate(answer.best.plan, **ASKED)
    assert "step time" in again._repr_html_()


def test_the_shortest_plan() -> None:
    """`planner.Plan(dp=8)` is a plan; nobody should have to switch sequence parallelism off."""
    assert planner.evaluate(planner.Plan(dp=8), **ASKED).fits


def test_stages_by_hand() -> None:
    def seconds(*layers: int) -> float:
        plan = planner.Plan(
            dp=4,
            pp=2,
            micro_batch=8,
            sequence_parallel=False,
            stages=tuple(planner.Stage(layers=n) for n in layers),
        )
        return planner.evaluate(plan, **ASKED).result.step_time_s

    assert seconds(6, 6) < seconds(3, 9)  # the last stage has the head as well


@each(("fields", "words"), [
    ({"model": "gpt3-125m"}, "chips"),
    ({"chips": 8}, "model: is missing"),
    ({**ASKED, "chps": 8}, "chips"),
    ({**ASKED, "chips": 0}, "chips: 0"),
    ({**ASKED, "min_mfu": float("nan")}, "min_mfu"),
    ({**ASKED, "fix": {"tq": [1]}}, "tq"),
    ({**ASKED, "model": "gpt3-125"}, "gpt3-125m"),
])  # fmt: skip
def test_bad_questions_raise_input_errors(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(planner.InputError, match=words):
        planner.solve(**fields)


@each("value", [8, "8", np.int64(8)])
def test_numbers_that_python_people_pass(value: Any) -> None:
    """numpy integers come out of every loop over an array."""
    found = planner.solve(**{**ASKED, "chips": value})
    assert found.best is not None
    assert found.best.chips == 8


def test_paths_that_python_people_pass(tmp_path: Path) -> None:
    example = resources.files("models_db") / "data" / "examples" / "my-model.yaml"
    path = tmp_path / "my.yaml"
    path.write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    found = planner.solve(model=path, hardware="h100-sxm5-80", chips=8)
    assert found.status == "optimal"


def test_fix_takes_numbers_and_lists() -> None:
    one = planner.solve(**ASKED, fix={"tp": 2})
    other = planner.solve(**ASKED, fix={"tp": ["2"]})
    assert one.best == other.best


def test_progress_is_reported() -> None:
    seen: list[tuple[str, int, int]] = []
    planner.solve(
        **{**ASKED, "chips": 64},
        on_progress=lambda what, done, of: seen.append((what, done, of)),
    )  # fmt: skip
    assert seen
    assert all(0 <= done <= of for _, done, of in seen)


def test_an_exception_from_progress_stops_the_search() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planner.solve(**{**ASKED, "chips": 64}, on_progress=stop)


def test_infeasible_is_an_answer_not_an_exception() -> None:
    found = planner.solve(model="gpt3-175b", hardware="h100-sxm5-80", chips=8)
    assert found.status == "infeasible"
    assert found.best is None
    assert found.diagnosis is not None
    assert found.diagnosis.remedies
    assert "memory" in found._repr_html_()


def test_a_plan_can_be_demanded() -> None:
    found = planner.solve(**ASKED)
    assert found.require() is found.best
    with pytest.raises(planner.InfeasibleError, match="no plan fits: memory"):
        planner.solve(model="gpt3-175b", hardware="h100-sxm5-80", chips=8).require()
    certificate = dataclasses.replace(found.certificate, status="time_limit")
    front = dataclasses.replace(found.front, plans=())
    late = dataclasses.replace(found, best=None, front=front, certificate=certificate)
    with pytest.raises(planner.TimeLimitError, match="time-limit"):
        late.require()


def everything(**fields: Any) -> np.ndarray:
    """(c, 3) the whole front of time, energy and memory without any bound."""
    resolved = resolve(request_from({**ASKED, **fields}))
    search = UniformSpace(
        model=resolved.cost, options=SpaceOptions(), limits=Limits(),
        columns=(TIME, ENERGY, MEMORY),
        bounded=False,
    )  # fmt: skip
    points: np.ndarray = Driver().run(search.on(8)).points
    return points


@each("job", [
    {}, {"model": "gpt3-1.3b", "hardware": "tpu-v5p"},
    {"model": "deepseek-v2-lite", "hardware": "mi300x"},
])  # fmt: skip
def test_each_objective_is_the_least_of_the_whole_space(job: dict[str, Any]) -> None:
    fields = {"batch_tokens": 2**18, **job}
    points = everything(**fields)
    least = {
        "time": points[:, 0].min(),
        "energy": points[:, 1].min(),
        "edp": (points[:, 0] * points[:, 1]).min(),
        "memory": points[:, 2].min(),
    }
    for objective, value in least.items():
        found = planner.solve(**{**ASKED, **fields, **EVERY}, objective=objective)
        assert found.status == "optimal"
        assert found.objective == pytest.approx(value, rel=1e-12), objective
        assert found.bound == found.objective


@each("objective", ["time", "energy", "edp", "memory"])
def test_the_front_has_the_objectives_that_were_asked_for(objective: str) -> None:
    """A best plan for memory does not turn the front of time and energy into another one."""
    by_time = planner.solve(**ASKED)
    found = planner.solve(**ASKED, objective=objective)
    points = [(point.step_time_s, point.energy_per_step_j) for point in found.front]
    for one, other in itertools.permutations(points, 2):
        assert one[0] < other[0] or one[1] < other[1], "dominated in time and energy"
    assert found.front == by_time.front


def test_unequal_interleaved_chunks_are_warned_of() -> None:
    plan = planner.Plan(pp=8, schedule="interleaved", interleave=3, split="front", sharding="ddp",
                        sequence_parallel=False)  # fmt: skip
    job = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "framework": "megatron"}
    words = "interleave: 32 layers make no 24 equal chunks"
    assert any(line.startswith(words) for line in planner.evaluate(plan, **job).warnings)
    equal = dataclasses.replace(plan, interleave=4)
    assert not any("chunks" in line for line in planner.evaluate(equal, **job).warnings)


@each("objective", ["time", "energy", "edp"])
def test_fewer_chips_do_better_only_in_time_and_energy(objective: str) -> None:
    """A best plan for energy runs slowly: that fewer chips are faster than it is no merit."""
    for job in (ASKED, {"model": "llama2-7b", "hardware": "h100-sxm5-80", "chips": 32}):
        answer = planner.solve(**job, objective=objective)
        best = answer.best
        assert best is not None
        better = any(
            row.chips < best.chips
            and row.step_time_s <= best.step_time_s
            and row.energy_per_step_j <= best.energy_per_step_j
            for row in answer.front
        )
        assert ("Fewer chips do better" in answer.front.note) is better


def test_a_best_plan_is_proved_where_time_ends_the_search_for_the_rest_of_a_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At some of the moments at which the clock is asked for, in turn."""
    asked = {**ASKED, "front": ("time", "energy", "memory")}
    whole, looked, latest = planner.solve(**asked), [0], [0]

    def clock() -> float:
        looked[0] += 1
        return 2.0 if looked[0] > latest[0] else 0.0

    monkeypatch.setattr(time, "perf_counter", clock)
    proved, moment, ended = 0, 0, True
    while ended:
        moment += 2 + moment // 4
        looked[0], latest[0] = 0, moment
        found = planner.solve(**asked, time_limit=1.0)
        ended = not found.front.complete
        if found.gap is None or not ended:
            continue
        assert found.status == ("optimal" if found.gap <= 1e-9 else "feasible")
        assert "incomplete" in found.front.note
        if found.status == "optimal":
            proved += 1
            assert found.objective == pytest.approx(whole.objective, rel=1e-12)
    print(f"the best plan was proved at {proved} moments")
    assert proved > 0
    assert found.front == whole.front
