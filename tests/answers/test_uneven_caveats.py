"""What a user should know of plans whose stages are listed."""

import planner
from planner.plan import Plan, Stage

JOB = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "batch_tokens": 2**18}


def test_an_empty_middle_stage_is_no_silent_one() -> None:
    stages = tuple(Stage(layers=layers) for layers in (5, 0, 5, 2))
    lines = planner.evaluate(Plan(dp=2, pp=4, stages=stages), **JOB).warnings
    assert any(line.startswith("stages: stages 1 hold no layer") for line in lines)
    ends = tuple(Stage(layers=layers) for layers in (0, 6, 6, 0))
    lines = planner.evaluate(Plan(dp=2, pp=4, stages=ends), **JOB).warnings
    assert not any("hold no layer" in line for line in lines)


def test_a_rule_that_deals_out_layers_matters_to_pipelines_only() -> None:
    job = {**JOB, "hardware": "tpu-v5p", "framework": "jax"}
    for pp, words in ((1, False), (2, True)):
        stages = tuple(Stage(layers=12 // pp) for _ in range(pp))
        found = planner.evaluate(Plan(dp=8 // pp, pp=pp, stages=stages), **job).warnings
        assert any("deals out layers by a rule" in line for line in found) is words
