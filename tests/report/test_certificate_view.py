"""What is said of certificates of uneven pipelines."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from support.cases import each

from planner.plan import Plan
from planner.report.tables.certificate import certificate_notes, uneven_proof_words
from planner.results.certificate import Certificate, FunnelStage
from planner.results.gains import gain_words, unconfirmed_words
from planner.results.parts import Notes, Question
from planner.results.result import SolveResult
from planner.results.solved_parts import Candidates, Front, Stages

FUNNEL = (
    FunnelStage(name="LB0", rows=70, meshes=6, dropped=41, lowest=13.9),
    FunnelStage(name="stages", rows=90, meshes=6, dropped=90, lowest=13.0),
)


def answer_of(objective: float, bound: float | None, status: str, **asked: Any) -> SolveResult:
    """An answer beside a best uniform plan of 10 s."""
    certificate = Certificate(
        status=status, objective_name="time", uniform=10.0, objective=objective, bound=bound,
        funnel=FUNNEL,
    )  # fmt: skip
    plan = SimpleNamespace(plan=Plan(tp=2))
    return SolveResult(
        certificate=certificate, best=None, front=Front(plans=(), objectives=(), complete=False),
        candidates=Candidates(counts={}, seconds=1.0), notes=Notes(), versions={},
        question=Question(job={"framework": "megatron"}, asked=asked),
        stages=Stages(layout="uneven", uniform=cast("Any", plan)),
    )  # fmt: skip


def on_pools(answer: SolveResult) -> SolveResult:
    """An answer about two pools."""
    counts = {"rows before placement": {"considered": 60, "memory": 10, "kept": 50}}
    pools = cast("Any", ("one", "other"))
    return replace(
        answer,
        candidates=replace(answer.candidates, counts=counts),
        stages=replace(answer.stages, pools=pools),
    )


@each(
    ("objective", "bound", "status", "words"),
    [
        (10.0, 10.0, "optimal", "Uneven stages gain nothing (0 %)"),
        (10.0, 7.5, "feasible", "No plan with uneven stages was found so far that is better than "
                                "the best uniform one; up to 25 % less step time is possible."),
        (10.0, None, "feasible", "better than the best uniform one."),
        (9.0, 9.0, "optimal", "Uneven stages take 10 % off the step time"),
        (9.0, 8.0, "feasible", "Uneven stages take 10 % off the step time"),
        (12.0, 12.0, "optimal", "The best plan with uniform stages has 16.7 % less step time"),
    ],
)  # fmt: skip
def test_a_gain_of_nothing_is_said_only_where_it_is_proved(
    objective: float, bound: float | None, status: str, words: str
) -> None:
    assert words in gain_words(answer_of(objective, bound, status))


def test_the_notes_say_what_rows_are_and_what_a_gap_drops() -> None:
    answer = answer_of(10.0, 7.5, "feasible", gap=0.5)
    rows, dropped, solved = certificate_notes(answer, answer.certificate)
    assert "Rows of LB0 are meshes with micro-batch and schedule" in rows
    assert dropped.endswith("better than the best plan by more than 50 %.")
    assert "0 rows solved to proof" in solved
    proved = answer_of(10.0, 10.0, "optimal")
    assert certificate_notes(proved, proved.certificate)[1].endswith("better than the best plan.")


@each(
    ("simulated_s", "words"),
    [
        (9.1, ""),
        (9.5, "the best plan takes 9.5 s, 5 % less than the best uniform one, 10 s."),
        (10.0, "takes 10 s, as long as the best uniform one, 10 s: expect no gain from it."),
        (10.5, "takes 10.5 s, 5 % more than the best uniform one, 10 s: expect no gain from it."),
    ],
)
def test_a_gain_that_the_simulation_does_not_confirm_says_so(
    simulated_s: float, words: str
) -> None:
    answer = answer_of(9.0, 9.0, "optimal")
    best = cast("Any", SimpleNamespace(plan=Plan(), step_time_s=simulated_s))
    stages = replace(answer.stages, uniform_simulated_s=10.0)
    answer = replace(answer, best=best, facts=cast("Any", SimpleNamespace()), stages=stages)
    line = gain_words(answer)
    assert ("by the formula of the cost model" in line) is bool(words)
    assert words in line
    said = unconfirmed_words(answer.certificate, answer.best_simulated_s, answer.stages)
    assert said == ([line.split(". ", 1)[1]] if words else [])


def test_a_gap_that_rounding_exceeds_is_the_gap_asked_for() -> None:
    answer = answer_of(10.0, 9.9 - 1e-14, "feasible", gap=0.01)
    assert answer.certificate.gap is not None
    assert answer.certificate.gap > 0.01
    words = uneven_proof_words(answer, answer.certificate)
    assert words.startswith("Stopped within the gap asked for")
    late = answer_of(10.0, 9.8, "feasible", gap=0.01)
    assert uneven_proof_words(late, late.certificate).endswith("search; at most 2 % from it.")
    unknown = answer_of(10.0, None, "feasible", gap=0.01)
    assert uneven_proof_words(unknown, unknown.certificate).endswith("ended the search.")


def test_the_bound_of_an_answer_within_a_gap_is_in_its_certificate() -> None:
    of_solved = answer_of(10.0, 9.95, "feasible", gap=0.01)
    known = replace(of_solved.certificate, solved=3, funnel=(replace(FUNNEL[0], lowest=9.97),))
    words = certificate_notes(of_solved, known)[-1]
    assert "3 rows solved to proof or within the gap (lowest bound 9.95 s), none left" in words
    words = certificate_notes(of_solved, replace(known, bound=9.97))[-1]
    assert "3 rows solved to proof or within the gap, none left" in words
    words = certificate_notes(of_solved, replace(known, left=2, lowest_left=9.95))[-1]
    assert "within the gap, 2 left (lowest bound 9.95 s)" in words


def test_rows_on_pools_are_placements_and_are_counted_as_such() -> None:
    answer = on_pools(answer_of(9.0, 9.0, "optimal"))
    words = uneven_proof_words(answer, answer.certificate)
    assert "on any of 50 meshes with micro-batch and schedule, in 70 placements, has less" in words
    assert "Rows are meshes with micro-batch, schedule and placement." in certificate_notes(
        answer, answer.certificate
    )


def test_pools_have_no_interleaved_chunks_to_speak_of() -> None:
    answer = on_pools(answer_of(9.0, 9.0, "optimal"))
    words = uneven_proof_words(answer, answer.certificate)
    assert words.endswith("whatever its stages and placement.")


@each(
    ("layout", "asked", "words"),
    [
        ("uneven", {}, "whatever its stages (chunks of interleaved and bidirectional ones nearly"),
        ("uneven", {"fix": {"interleave": ["1"]}}, "whatever its stages and placement."),
        ("uneven", {"fix": {"schedule": ["1f1b"]}}, "whatever its stages and placement."),
        ("5,4*6,3", {}, "with these layers in its stages, whatever else they choose"),
    ],
)
def test_a_proof_says_what_stages_were_free_to_choose(
    layout: str, asked: dict[str, Any], words: str
) -> None:
    result = answer_of(9.0, 9.0, "optimal", **asked)
    result = replace(result, stages=replace(result.stages, layout=layout))
    assert words in uneven_proof_words(result, result.certificate)
