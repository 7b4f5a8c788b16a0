"""Layouts of ranks: words, checks, plan files and fronts that say them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import each

import planner
from planner.base.errors import InputError
from planner.plan import AXES, ORDERS, Plan, PlanTable
from planner.plan.ranks import Layout, as_layout, as_words, check_layout, moved, regrouped
from planner.question.files.plan_file import read_plan_file
from planner.question.files.plan_text import plan_fields
from planner.report.pages.front_file import front_csv
from planner.results.result import EvaluateResult, SolveResult

PARTS = st.lists(st.tuples(st.sampled_from(AXES), st.integers(1, 64)), min_size=1, max_size=7)


def sizes_of(layout: Layout) -> dict[str, int]:
    sizes = dict.fromkeys(AXES, 1)
    for axis, size in layout:
        sizes[axis] *= size
    return sizes


@given(PARTS)
def test_words_say_the_layout(parts: list[tuple[str, int]]) -> None:
    layout = tuple(parts)
    assert as_layout(as_words(layout)) == layout
    assert regrouped(" ".join(as_words(layout)).split()) == as_words(layout)
    check_layout(layout, sizes_of(layout))


@given(PARTS, st.data())
def test_moved_layouts_fit_their_mesh(parts: list[tuple[str, int]], data: st.DataObject) -> None:
    before = sizes_of(tuple(parts))
    after = dict(zip(AXES, data.draw(st.permutations(list(before.values()))), strict=True))
    check_layout(moved(tuple(parts), after), after)
    assert sizes_of(moved(tuple(parts), before)) == before


@each(
    ("layout", "said"),
    [
        ((("tq", 2),), "placement: 'tq' is not one of tp, cp, fsdp, dp, pp"),
        (
            (("tp", 2), ("dp", 4), ("dp", 3)),
            "placement: dp has 4 x 3 = 12, but the mesh has dp 8; end with dp 2",
        ),
        ((("tp", 2), ("dp", 3)), "placement: dp has 3, but the mesh has dp 8; end with dp 8"),
        ((("tp", 2),), "placement: dp has no part, but the mesh has dp 8; add dp 8"),
        (
            (("tp", 2), ("dp", 8), ("pp", 2)),
            "placement: pp has 2, but the mesh has pp 1; end with pp 1",
        ),
        ((("tp", 0), ("dp", 8)), "placement: tp 0 is not a part; sizes are at least 1"),
    ],
)
def test_layouts_that_contradict_the_mesh(layout: Layout, said: str) -> None:
    with pytest.raises(InputError, match="placement") as error:
        PlanTable.from_plans([Plan(tp=2, dp=8, layout=layout)])
    assert str(error.value) == said


def test_tables_hold_orders_and_layouts() -> None:
    layout: Layout = (("dp", 2), ("tp", 2), ("dp", 4))
    plans = [
        Plan(tp=2, dp=8),
        Plan(tp=2, dp=8, layout=layout),
        Plan(dp=8, tp=2, order=("dp", "tp")),
    ]
    table = PlanTable.from_plans([*plans, plans[1]])
    assert table.layouts == (layout,)
    assert table.order[1] == table.order[3] == len(ORDERS)
    assert table.plan(1) == plans[1]
    assert table.take(table.order.argsort()).plan(3).layout == layout
    assert table.plan(0).layout is None
    assert plans[1].ranks == layout
    assert plans[2].ranks == (("dp", 8), ("tp", 2), ("cp", 1), ("fsdp", 1), ("pp", 1))


FILE = """
schema_version: 1
job: {model: llama2-7b, hardware: tpu-v5p, batch_tokens: 262144, seq_len: 4096}
plan:
  mesh: {dp: 16, tp: 4}
  sharding: zero1
  placement: PLACEMENT
"""


def evaluated(folder: Path, placement: str) -> EvaluateResult:
    path = folder / "plan.yaml"
    path.write_text(FILE.replace("PLACEMENT", placement))
    return planner.evaluate(path)


def test_a_plan_file_says_which_parts_lie_where(tmp_path: Path) -> None:
    parts = evaluated(tmp_path, "[tp 2, dp 2, tp 2, dp 8]")
    assert parts.result.plan.layout == (("tp", 2), ("dp", 2), ("tp", 2), ("dp", 8))
    assert parts.result.torus == "x (4): tp 2, dp 2; y (4): tp 2, dp 2; z (4): dp 4; all wrap"
    assert "x (4): tp 2, dp 2" in parts.show()
    assert parts.to_dict()["placement"]["order"] == ["tp 2", "dp 2", "tp 2", "dp 8"]
    whole = evaluated(tmp_path, "[tp, dp]")
    assert whole.result.plan.layout is None
    assert whole.result.torus == "x (4): tp 4; y (4): dp 4; z (4): dp 4; all wrap"
    again = evaluated(tmp_path, "[tp 4, dp 16]")
    assert again.result.step_time_s == whole.result.step_time_s
    fields = plan_fields(parts.result.plan)
    assert fields["placement"] == ["tp 2", "dp 2", "tp 2", "dp 8"]


@each(
    ("placement", "said"),
    [
        ("[tp 2, dp 16]", "plan.placement: tp has 2, but the mesh has tp 4; end with tp 4"),
        ("[tp 4, dq 16]", "'dq' is not one of tp, cp, fsdp, dp, pp"),
        ("[tp 4, dp]", "'dp' is no part of an axis; every part has a size, as in 'fsdp 16'"),
        ("[tp, dp, tp]", "names an axis twice; parts have sizes, as in 'fsdp 16'"),
        ("[]", "[] names none of tp, cp, fsdp, dp, pp"),
        ("[tp 0, dp 16]", "'tp 0' is no part of an axis"),
        ("tp 4", "placement"),
    ],
)
def test_faulty_placements_are_refused_in_a_line(tmp_path: Path, placement: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        evaluated(tmp_path, placement)
    assert said in str(error.value)
    line = (tmp_path / "plan.yaml").read_text().split("placement:")[0].count("\n") + 1
    assert f"plan.yaml: line {line}: plan.placement" in str(error.value)
    assert "\n" not in str(error.value)


def test_fixed_rank_layouts_say_that_they_have_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    text = FILE.replace("PLACEMENT", "[tp 2, dp 2, tp 2, dp 8]").replace("tpu-v5p", "h100-sxm5-80")
    path.write_text(text)
    found = planner.evaluate(path)
    assert any(
        line.startswith("megatron cannot lay out ranks as tp 2, dp 2, tp 2, dp 8")
        for line in found.warnings
    )
    assert found.result.torus == ""
    path.write_text(text.replace("tp 2, dp 2, tp 2, dp 8", "tp 2, tp 2, dp 16"))
    assert not any("lay out" in line for line in planner.evaluate(path).warnings)


@pytest.fixture(scope="module")
def answer() -> SolveResult:
    """A front whose best plan cuts an axis into parts."""
    return planner.solve(model="llama2-13b", chips=4096, placement="torus")


def test_fronts_with_layouts_are_read_again(answer: SolveResult, tmp_path: Path) -> None:
    best = answer.require()
    assert best.plan.layout is not None
    files = {
        "front.csv": front_csv(answer),
        "front.json": json.dumps(answer.to_dict()),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        row = next(i for i, p in enumerate(answer.front, 1) if p.plan == best.plan)
        assert read_plan_file(path, row=row).plan == best.plan


@each(
    ("hardware", "framework", "said"),
    [
        ("dgx-h100-ndr", None, "torus needs a cluster with a torus, such as tpu-v5p; dgx-h100-ndr"),
        (
            "tpu-v5p",
            "megatron",
            "torus needs a framework that lays out ranks in parts (jax, textbook)",
        ),
        ("tpu-v5p", "torchtitan", "allowed here: framework, all"),
    ],
)
def test_where_there_is_no_torus_to_lay_axes_along(
    hardware: str, framework: str | None, said: str
) -> None:
    with pytest.raises(InputError) as error:
        planner.solve(
            model="llama2-7b", hardware=hardware, framework=framework, chips=64, placement="torus"
        )
    assert said in str(error.value)
    assert "\n" not in str(error.value)
