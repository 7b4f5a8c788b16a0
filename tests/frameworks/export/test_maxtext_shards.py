"""Which dimensions of a model MaxText divides over which ranks."""

from dataclasses import replace

from support.cases import each

from frameworks.export.cases import CASES, Case
from models_db import Model, load_model
from planner.frameworks.rules import all_rules
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Plan, PlanTable
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["maxtext"]
SLICES = CASES["slices"]


def told(case: Case, name: str, model: Model | None = None) -> str:
    """The line of a rule that the plan breaks; empty where it obeys."""
    rule, cost = next(one for one in all_rules() if one.name == name), case.cost()
    if model is not None:
        cost = replace(cost, job=replace(cost.job, model=model))
    held = rule.holds(cost, PlanTable.from_plans([case.plan]))
    return "" if held[0] else rule.explain(cost, case.plan)


def sharded(model: str, fsdp: int, ep: int = 1, cp: int = 1) -> Case:
    plan = Plan(fsdp=fsdp, ep=ep, cp=cp, sharding="zero3", recompute="full")
    return replace(SLICES, model=model, global_batch=fsdp, plan=plan)


def over_tp(model: str, tp: int, *, sequence_parallel: bool, dp: int = 1) -> Case:
    plan = Plan(dp=dp, tp=tp, sharding="ddp", sequence_parallel=sequence_parallel)
    return replace(SLICES, model=model, hardware="dgx-h100-ndr", plan=plan)


@each(
    ("model", "fsdp", "ep", "runs"),
    [
        ("deepseek-v2-lite", 512, 1, True),
        ("deepseek-v2-lite", 1024, 1, False),
        ("deepseek-v2-lite", 512, 64, True),
        ("deepseek-v2-lite", 1024, 64, False),
        ("deepseek-v3", 512, 1, True),
        ("deepseek-v3", 448, 1, False),
        ("deepseek-v3", 896, 128, False),
        ("deepseek-v3", 1024, 256, False),
        ("kimi-k2", 56, 1, False),
        ("deepseek-v2", 80, 1, False),
        ("llama3-8b", 1024, 1, True),
        ("qwen3-30b-a3b", 1024, 128, True),
    ],
)
def test_latents_divide_over_shards(model: str, fsdp: int, ep: int, runs: bool) -> None:
    assert (told(sharded(model, fsdp, ep), "maxtext-latents") == "") == runs


def test_context_shards_latents_too() -> None:
    case = sharded("deepseek-v3", 512, cp=2)
    assert "1536 latents of queries of deepseek-v3" in told(case, "maxtext-latents")
    assert "fsdp 512 x cp 2; nearest fsdp: 256" in told(case, "maxtext-latents")


def test_the_nearest_shards_leave_room_for_experts() -> None:
    line = told(sharded("deepseek-v3", 448, ep=64), "maxtext-latents")
    assert "the 1536 latents of queries of deepseek-v3" in line
    assert "nearest fsdp: 256 or 512" in line


def test_the_table_of_a_named_model_divides_over_tp() -> None:
    """Its 202,048 rows are 64 x 3157; an own table is padded."""
    case = over_tp("llama4-scout", 5, sequence_parallel=True)
    line = told(case, "maxtext-tensor")
    assert "the 202048 rows of the table of tokens of llama4-scout" in line
    assert line.endswith("nearest: 4 or 8")
    assert told(over_tp("opt-1.3b", 32, sequence_parallel=True), "maxtext-tensor") == ""


def test_norms_divide_over_tp_where_sequences_do_not() -> None:
    """The 64 of normed heads over 3, of a table of tokens that is padded."""
    case = over_tp("qwen3-8b", 3, sequence_parallel=False)
    narrow = replace(load_model("qwen3-8b"), name="narrow", head_dim=64, hidden=4608)
    line = told(case, "maxtext-tensor", narrow)
    assert "the 64 width of normed heads of narrow equally over tp 3; nearest: 2 or 4" in line
    divided = replace(case, plan=replace(case.plan, sequence_parallel=True))
    assert told(divided, "maxtext-tensor", narrow) == ""


@each(("tp", "rows"), [(2, 2050), (4, 2052)])
def test_the_table_of_positions_is_padded_to_tp(tp: int, rows: int) -> None:
    case = replace(over_tp("opt-1.3b", tp, sequence_parallel=True, dp=4), seq_len=2048)
    text = export_plan(case.cost(), case.plan, TARGET).files[0].text
    assert load_yaml(text)["trainable_position_size"] == rows


def test_expert_groups_take_their_ranks_from_fsdp_before_dp() -> None:
    """Else weights were sharded over ranks of dp too."""
    plan = Plan(
        dp=4, fsdp=16, ep=16, sharding="zero3", order=("dp", "tp", "cp", "fsdp", "pp")
    )  # fmt: skip
    case = replace(CASES["experts"], model="qwen3-30b-a3b", framework="jax", plan=plan)
    found = load_yaml(export_plan(case.cost(), plan, TARGET).files[0].text)
    sizes = {key: value for key, value in found.items() if "parallelism" in key and value > 1}
    assert sizes == {
        "ici_data_parallelism": 4,
        "ici_expert_parallelism": 2,
        "dcn_expert_parallelism": 8,
    }
