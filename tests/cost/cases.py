"""Random jobs, machines and plans for the tests of the cost model."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import combinations, pairwise
from typing import Any

from hypothesis import strategies as st

from hardware_db import Cluster, load_cluster
from models_db import Model, load_model
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.cost.breakdown import Breakdown
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import violations
from planner.plan import ORDERS, SPLITS, Plan, PlanTable, Stage

CLUSTERS = ("dgx-h100-ndr", "dgx-a100-80-hdr", "gb200-nvl72", "tpu-v5p", "mi300x-8way", "tpu-v5e")
DENSE = ("llama3-8b", "gpt3-1.3b", "falcon-40b", "gemma2-9b", "llama2-13b", "opt-1.3b", "olmo2-7b")
EXPERTS = (
    "mixtral-8x7b",
    "deepseek-v2-lite",
    "deepseek-v3",
    "qwen2-57b-a14b",
    "llama4-maverick",
    "gpt-oss-20b",
)
ERAS_OF = {
    "megatron": ("megatron-core", "megatron-deepspeed", "megatron-2022"),
    "megatron-zb": ("megatron-core",),
    "hai-llm": ("megatron-core",),
    "torchtitan": ("torch-fsdp",),
    "deepspeed": ("torch-fsdp", "llm-foundry"),
    "fsdp": ("torch-fsdp",),
    "nanotron": ("nanotron",),
    "jax": ("jax",),
}


@lru_cache(maxsize=None, typed=True)
def one_of(*values: Any) -> st.SearchStrategy[Any]:
    """One of some values; hypothesis looks at each such strategy once, not in every example."""
    return st.sampled_from(values)


@cache
def short_model(name: str, layers: int) -> Model:
    """A published model cut to `layers` layers (its first ones)."""
    return replace(load_model(name), layers=layers)


@cache
def assumptions_of(cluster: str, era: str, precision: str = "bf16") -> Assumptions:
    """The calibrated constants."""
    return calibrated(load_cluster(cluster).chip, era, precision)


@dataclass(frozen=True, kw_only=True, repr=False)
class Case:
    """A job on a machine."""

    job: Job
    cluster: Cluster
    assumptions: Assumptions

    def __repr__(self) -> str:
        job, a = self.job, self.assumptions
        base = assumptions_of(self.cluster.name, job.era)
        changed = {k: v for k, v in asdict(a).items() if v != getattr(base, k)}
        return (
            f"case_of({job.model.name!r}, {self.cluster.name!r}, layers={job.model.layers}, "
            f"batch={job.global_batch}, seq_len={job.seq_len}, framework={job.framework.name!r}, "
            f"era={job.era!r}, kind={job.kind!r}).assuming(**{changed})"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # hypothesis prints every field of a dataclass otherwise

    def assuming(self, **changes: Any) -> "Case":
        """The same with other assumptions."""
        return replace(self, assumptions=replace(self.assumptions, **changes))

    @cached_property
    def model(self) -> CostModel:
        """The cost model under test."""
        return CostModel.build(self.job, self.cluster, self.assumptions)

    def step_time_s(self, plan: Plan) -> float:
        """Of one plan, without its parts."""
        return float(evaluate_totals(self.model, PlanTable.from_plans([plan])).step_time_s[0])

    def run(self, plans: Sequence[Plan]) -> Breakdown:
        """Evaluate plans together."""
        return evaluate_table(self.model, PlanTable.from_plans(plans))


def case_of(
    model: str = "llama3-8b",
    cluster: str = "dgx-h100-ndr",
    *,
    layers: int = 8,
    batch: int = 64,
    seq_len: int = 4096,
    framework: str = "megatron",
    era: str | None = None,
    kind: str = "pretrain",
) -> Case:
    """A fixed job."""
    chosen = FRAMEWORKS[framework]
    era = era or chosen.era
    job = Job(
        model=short_model(model, layers),
        seq_len=seq_len,
        global_batch=batch,
        kind=kind,
        framework=chosen,
        era=era,
    )
    return Case(job=job, cluster=load_cluster(cluster), assumptions=assumptions_of(cluster, era))


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    clusters: Sequence[str] = CLUSTERS,
    models: Sequence[str] = (*DENSE, *EXPERTS),
    kinds: Sequence[str] = ("pretrain", "pretrain", "lora"),
    frameworks: Sequence[str] = tuple(ERAS_OF),
) -> Case:
    """A random job on a random machine."""
    framework = draw(one_of(*frameworks))
    return case_of(
        draw(one_of(*models)),
        draw(one_of(*clusters)),
        layers=draw(one_of(4, 6, 8, 12)),
        batch=draw(one_of(16, 48, 64, 192, 512)),
        seq_len=draw(one_of(1024, 2048, 8192)),
        framework=framework,
        era=draw(one_of(*ERAS_OF[framework])),
        kind=draw(one_of(*kinds)),
    )


def _factors(draw: st.DrawFn, chips: int, parts: int) -> list[int]:
    """`parts` factors of `chips`, at random."""
    factors = [1] * parts
    rest, prime = chips, 2
    while rest > 1:
        while rest % prime == 0:
            factors[draw(st.integers(0, parts - 1))] *= prime
            rest //= prime
        prime += 1
    return factors


@st.composite
def plans_for(
    draw: st.DrawFn,
    case: Case,
    chips: int,
    *,
    regular: bool = True,
    schedules: Sequence[str] = ("gpipe", "1f1b", "interleaved", "zero-bubble"),
    offloads: bool = True,
    explicit: bool = True,
) -> Plan:
    """A plan of `chips` chips that breaks no rule of arithmetic.

    `regular` keeps the expert groups nested in the axes, as the scalar reference needs;
    `explicit` allows plans that list their stages.
    """
    job, model = case.job, case.job.model
    plan = _meshes(draw, case, chips, regular=regular, schedules=schedules)
    data = plan.dp * plan.fsdp
    ranks = plan.dp * plan.fsdp * plan.cp
    sharding = "zero3" if plan.fsdp > 1 else "ddp"
    if plan.fsdp == 1 and ranks > 1:
        sharding = draw(one_of("ddp", "zero1", "zero2", "zero3"))
    offload: list[str] = []
    if offloads and draw(st.integers(0, 3)) == 0:
        offload = draw(st.lists(one_of("optimizer", "weights", "activations")))
    levels = case.cluster.chip.clock_levels if case.cluster.chip.clock_settable else (1.0,)
    groups = [d for d in (1, 2, 3, 4, 6) if job.global_batch // data % d == 0]
    listed = None
    if explicit and plan.interleave == 1 and draw(st.integers(0, 3)) == 0:
        listed = _stage_lists(draw, case, plan, ranks)
    recompute = draw(one_of("none", "selective", "full", *_sets_of_modules(job)))
    modes = ["ring"]
    if model.heads % (plan.tp * plan.cp) == 0 and (
        model.attention.kind == "mla" or math.ceil(model.kv_heads / plan.tp) % plan.cp == 0
    ):
        modes.append("all-to-all")
    return replace(
        plan,
        micro_batch=draw(one_of(*groups)),
        sharding=sharding,
        sequence_parallel=plan.tp > 1 and (model.moe is not None or draw(st.booleans())),
        cp_mode=draw(one_of(*modes)),
        recompute="none" if "activations" in offload else recompute,
        offload=tuple(dict.fromkeys(offload)),
        clock=draw(one_of(*levels)),
        stages=listed,
    )


def _sets_of_modules(job: Job) -> list[str]:
    """Some recomputations of single modules that the model has, where any can be had."""
    model, latent, moe = job.model, job.model.attention.kind == "mla", job.model.moe
    if job.kind == "lora" or model.order or model.parallel_block:
        return []
    if "mlp" not in job.framework.recompute_modules:
        return []
    names = ["core_attn"] + ["mlp"] * ("dense" in model.layer_kinds) + ["mla_up_proj"] * latent
    names += ["layernorm"] * (latent or moe is not None)
    names += ["moe", "moe_act"] * (moe is not None)
    sizes = range(1, len(names) + 1)
    every = [sorted(some) for size in sizes for some in combinations(names, size)]
    return ["+".join(some) for some in every if some != ["core_attn"]]


def _stage_lists(draw: st.DrawFn, case: Case, plan: Plan, ranks: int) -> tuple[Stage, ...]:
    """Any layers per stage; recompute, clock and sharding of its own on some stages."""
    cuts = draw(
        st.lists(
            st.integers(0, case.job.model.layers), min_size=plan.pp - 1, max_size=plan.pp - 1
        ).map(sorted)
    )
    edges = [0, *cuts, case.job.model.layers]
    shardings = [None, "zero3"] if plan.fsdp > 1 else [None, "ddp", "zero1", "zero2", "zero3"]
    clocks = case.cluster.chip.clock_levels if case.cluster.chip.clock_settable else (1.0,)
    return tuple(
        Stage(
            layers=after - before,
            recompute=draw(one_of(None, "none", "selective", "full")),
            sharding=draw(one_of(*shardings)) if ranks > 1 else None,
            clock=draw(one_of(None, *clocks)),
        )
        for before, after in pairwise(edges)
    )


def _meshes(
    draw: st.DrawFn, case: Case, chips: int, *, regular: bool, schedules: Sequence[str]
) -> Plan:
    job, model = case.job, case.job.model
    tp, cp, fsdp, dp, pp = _factors(draw, chips, 5)
    while model.layers < pp or (pp % 2 and pp > 1):
        prime = next(d for d in range(2, pp + 1) if pp % d == 0)
        dp, pp = dp * prime, pp // prime
    spare = dp * fsdp // math.gcd(dp * fsdp, job.global_batch)
    take = math.gcd(spare, dp)
    tp, dp, fsdp = tp * spare, dp // take, fsdp // (spare // take)
    order = draw(one_of(*ORDERS)) if draw(st.booleans()) else ORDERS[0]
    ranks = tp * cp * fsdp * dp
    ep = etp = 1
    if model.moe is not None:
        shares = [d for d in range(1, ranks + 1) if math.gcd(ranks, model.moe.experts) % d == 0]
        ep = draw(one_of(*shares))
        if (
            regular
            and ep > 1
            and not _nested(ep, order, {"tp": tp, "cp": cp, "fsdp": fsdp, "dp": dp})
        ):
            ep = 1
        wide = math.gcd(ranks // ep, model.moe.expert_hidden)
        shared = [d for d in range(1, wide + 1) if wide % d == 0] if draw(st.booleans()) else [1]
        etp = draw(one_of(*shared))
        sizes = {"tp": tp, "cp": cp, "fsdp": fsdp, "dp": dp}
        if regular and not (_nested(etp, order, sizes) and _nested(ep * etp, order, sizes)):
            etp = 1
    schedule = draw(one_of(*schedules)) if pp > 1 else "1f1b"
    if schedule == "zero-bubble" and job.kind == "lora":
        schedule = "1f1b"
    interleave = draw(one_of(2, 3)) if schedule == "interleaved" else 1
    return Plan(
        tp=tp,
        cp=cp,
        fsdp=fsdp,
        dp=dp,
        pp=pp,
        ep=ep,
        etp=etp,
        order=order,
        schedule=schedule,
        interleave=interleave,
        split=draw(one_of(*SPLITS)),
    )


def _nested(ep: int, order: Sequence[str], sizes: dict[str, int]) -> bool:
    """Whether `ep` is whole axes and a divisor of the next, innermost first."""
    for axis in order:
        if axis == "pp":
            continue
        if ep % sizes[axis]:
            return sizes[axis] % ep == 0
        ep //= sizes[axis]
        if ep == 1:
            return True
    return ep == 1


def runnable(case: Case, plan: Plan) -> bool:
    """Whether a plan breaks no rule of arithmetic."""
    return not violations(case.model, PlanTable.from_plans([plan]), arithmetic_only=True)


def chip_counts(case: Case, most: int, *, odd: bool = True) -> list[int]:
    """Chip counts up to `most` that the cluster gives.

    Powers of two and multiples of 3; without `odd` the latter only inside the first domain, so that
    the axes of a mesh fill every domain evenly.
    """
    first = case.cluster.levels[0].domain_chips or most
    wanted = {2**power for power in range(10)}
    wanted |= {n for n in (24, 48, 72, 96, 144, 576) if odd or n <= first}
    return [chips for chips in case.cluster.chip_counts(most) if chips in wanted]


CHANGES: dict[str, Any] = {
    "asymptotic_volume": True,
    "jitter": 0.02,
    "site_factor": 1.2,
    "moe_imbalance": 1.3,
    "load_spread": 0.5,
    "even_loads": True,
    "sends_copies": False,
    "gathers_tokens": True,
    "dispatch_bytes": 1.0,
    "ep_overlap": 0.9,
    "launched_share": 0.1,
    "wave_exponent": 0.0,
    "ring_hop_s": 0.0,
    "scale_up_latency_s": 0.0,
    "collective_algorithms": ("ring",),
    "zero3_overlap": 0.0,
    "dp_overlap": 1.0,
    "fused_attention": False,
    "host_link_overlap": 0.0,
}


@st.composite
def assumed(draw: st.DrawFn, case: Case) -> Case:
    """The case with some of its assumptions changed."""
    names = draw(st.lists(one_of(*sorted(CHANGES)), max_size=3))
    return case.assuming(**{name: CHANGES[name] for name in names})
