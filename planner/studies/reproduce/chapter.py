"""How to Scale Your Model, part 5 (document 003): thresholds, figures and worked questions.

Formulas are `planner.studies.feasibility.textbook.algebra`, figures its curves, and questions the
ordinary cost model under the assumptions `roofline`. Widths are those that the document names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from hardware_db import Cluster, list_clusters, load_cluster
from models_db import load_model
from planner.assumptions.assumptions import Assumptions
from planner.base.units import plain, show_bytes, show_count
from planner.cost.communication.ledger import layer_ledger
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable
from planner.studies.feasibility.asking import feasible
from planner.studies.feasibility.pictured import Pictured
from planner.studies.feasibility.textbook import algebra
from planner.studies.feasibility.textbook.continuous import nearest_split
from planner.studies.feasibility.textbook.curves import machine_of
from planner.studies.reproduce.found import Found, Rows, Shown

V5P, WIDTH, ROUND_WIDTH = "tpu-v5p", 32_768, 30_000
"""The document's chip, its realistic F, and the F to which it rounds that of LLaMA-3 70B."""
SLICE, LARGE, POD = 64, 4096, 8960
_BATCH_Q3, _CHIPS_Q3, _MFU_Q3 = 3e6, 4096, 0.4


def _alpha(cluster: Cluster, precision: str = "bf16") -> float:
    """C / W of one torus axis, in tokens."""
    return algebra.operational_intensity(
        cluster.chip.peak_flop_per_s[precision], 2 * cluster.levels[0].link_bandwidth_bytes_per_s
    )


def _v5p() -> tuple[Cluster, float, float]:
    """The cluster, its C and its alpha."""
    cluster = load_cluster(V5P)
    return cluster, cluster.chip.peak_flop_per_s["bf16"], _alpha(cluster)


def single_chip() -> Found:
    """Tokens from which a matrix keeps a chip busy, by its memory alone."""
    needs = {
        name: chip.peak_flop_per_s["bf16"] / chip.memory_bandwidth_bytes_per_s
        for name in ("tpu-v5e", V5P)
        for chip in (load_cluster(name).chip,)
    }
    return Found(values={"v5e": needs["tpu-v5e"], "v5p": needs[V5P]})


def data_parallelism() -> Found:
    """Tokens per chip for DP and FSDP, on one axis and on all, and of a pod."""
    _, _, alpha = _v5p()
    return Found(
        values={
            "one_axis": algebra.least_batch_data(1, alpha, 1),
            "all_axes": algebra.least_batch_data(1, alpha, 3),
            "pod": algebra.least_batch_data(POD, alpha, 3),
        }
    )


def largest_model() -> Found:
    """Parameters of the largest model on one chip."""
    cluster, _, _ = _v5p()
    return Found(values={"parameters": algebra.largest_model_data(cluster.chip.memory_bytes)})


def deepseek() -> Found:
    """Chips that 40 M tokens feed."""
    _, _, alpha = _v5p()
    chips = algebra.most_chips_data(40e6, alpha, 3)
    return Found(values={"chips": chips, "pods": chips / POD})


def llama3_run() -> Found:
    """Llama 3 70B at 16 M tokens per step and half of the peak."""
    _, flop_per_s, alpha = _v5p()
    chips = algebra.most_chips_data(16e6, alpha, 3)
    return Found(
        values={
            "flop": 6 * 70e9 * 15e12,
            "chips": chips,
            "pods": chips / POD,
            "days": algebra.training_days(70e9, 15e12, chips, 0.5 * flop_per_s),
        }
    )


def tensor_limit() -> Found:
    """Ways that tensor parallelism may split a matrix."""
    _, _, alpha = _v5p()
    widths = {name: float(_width(name)) for name in ("llama2-13b", "llama3-70b", "llama3-405b")}
    widths |= {"the document's F": float(WIDTH)}
    rows = tuple(
        (name, f"{width:,.0f}", *(plain(algebra.largest_tp(width, alpha, m)) for m in (1, 2)))
        for name, width in widths.items()
    )
    header = ("model", "F", "one axis", "two axes")
    return Found(
        values={"ways": algebra.largest_tp(ROUND_WIDTH, alpha, 1)},
        tables=(Rows(title="Most ways of tensor parallelism", header=header, rows=rows),),
    )


def _width(model: str) -> int:
    """F of a dense model."""
    width = load_model(model).mlp.hidden
    assert width is not None
    return width


def int8() -> Found:
    """The same at 8 bits: twice the arithmetic, half the bytes."""
    cluster, _, alpha = _v5p()
    eight = _alpha(cluster, "int8")
    return Found(
        values={
            "intensity": eight,
            "same_limit": algebra.largest_tp(WIDTH, eight / 2, 1)
            == algebra.largest_tp(WIDTH, alpha, 1),
        }
    )


def optimal_split() -> Found:
    """X_opt of a 4x4x4 slice."""
    best = algebra.optimal_fsdp(48_000, WIDTH, SLICE, 2, 1)
    split = nearest_split(best, SLICE, WIDTH)
    assert split is not None
    return Found(values={"x_opt": best, "fsdp": split["fsdp"], "tp": split["tp"]})


def mixed() -> Found:
    """Tokens per chip of FSDP + TP, and how many times fewer than FSDP alone."""
    _, _, alpha = _v5p()
    each = algebra.least_batch_mixed(WIDTH, 1, alpha, 2, 1)
    return Found(values={"tokens": each, "gain": algebra.least_batch_data(1, alpha, 3) / each})


def _drawn(width: float, batch_tokens: float) -> Pictured:
    """The document's pictures on its own F: D of LLaMA-3 70B, M_X = 2 and M_Y = 1."""
    cost = _cost_model("llama3-70b", batch_tokens, LARGE)
    machines = {
        chips: replace(found, width=float(width))
        for chips in (SLICE, LARGE)
        if (found := machine_of(cost, chips)) is not None
    }
    return Pictured(
        title=f"An MLP of {cost.job.model.hidden:,} x {width:,.0f} on {V5P}",
        symbols=f"F = {width:,.0f}, M_X = 2, M_Y = 1",
        shapes={SLICE: "4x4x4", LARGE: "16x16x16"},
        ratio=machines[SLICE],
        time=machines[LARGE],
        split=machines[LARGE],
        split_batch=batch_tokens,
    )


def _cost_model(model: str, tokens: float, chips: int, *, mfu: float = 1.0) -> CostModel:
    """Under `roofline`, with two torus axes for FSDP and one for TP."""
    cluster = load_cluster(V5P)
    job = Job(
        model=load_model(model), seq_len=tokens / chips, global_batch=chips,
        framework=FRAMEWORKS["textbook"], era="jax",
    )  # fmt: skip
    assumptions = Assumptions.roofline(cluster.chip, mfu=mfu)
    return CostModel.build(job, cluster, assumptions, {"fsdp": 2, "tp": 1})


def ratio_figure() -> Found:
    """Computing over communication on 4x4x4, F = 30,000."""
    drawn = _drawn(ROUND_WIDTH, 48_000)
    machine = drawn.ratio
    batches = machine.batches()
    tensor = machine.math_s(batches) / machine.tp_s(batches)
    pure = machine.chips * machine.flop_per_s / machine.all_bytes_per_s
    return Found(
        values={
            "mixed": machine.crossing() / machine.chips,
            "fsdp": pure / machine.chips,
            "fixed": bool(np.ptp(tensor) < 1e-9 * tensor[0]),
        },
        pictured=(Shown(answer=drawn, panels=("ratio",), labels=("Figure (ratio)",)),),
    )


def time_figure() -> Found:
    """Communication and computing on 16x16x16, F = 4 x 8,192."""
    drawn = _drawn(WIDTH, 4e5)
    crossing = drawn.time.crossing()
    return Found(
        values={"formula": crossing, "caption": crossing},
        pictured=(Shown(answer=drawn, panels=("time",), labels=("Figure (times)",)),),
    )


def split_figure() -> Found:
    """Where the step is shortest over the split of 16x16x16."""
    _, _, alpha = _v5p()
    threshold = algebra.least_batch_mixed(WIDTH, LARGE, alpha, 2, 1)
    drawn = _drawn(WIDTH, threshold)
    split = nearest_split(drawn.split.least_split(threshold)[0], LARGE, WIDTH)
    assert split is not None
    return Found(
        values={"fsdp": split["fsdp"], "tp": split["tp"]},
        pictured=(Shown(answer=drawn, panels=("split",), labels=("Animation",)),),
    )


def data_center() -> Found:
    """Tokens per slice that hide the reduction over the data-center network."""
    cluster, flop_per_s, _ = _v5p()
    rate = cluster.levels[1].bandwidth_bytes_per_s
    return Found(
        values={"rate": rate, "tokens": algebra.least_batch_across_pods(1, flop_per_s, rate)}
    )


def two_pods() -> Found:
    """LLaMA-3 70B with 2 M tokens on two pods."""
    cluster, flop_per_s, alpha = _v5p()
    each = 2e6 / (2 * POD)
    widths = {"round": ROUND_WIDTH, "real": _width("llama3-70b")}
    needs = {name: algebra.least_batch_mixed(f, 1, alpha, 2, 1) for name, f in widths.items()}
    rate = cluster.levels[1].bandwidth_bytes_per_s
    header = ("F", "tokens per chip needed", "tokens per chip there are")
    rows = tuple((f"{f:,}", plain(needs[name], 4), plain(each, 4)) for name, f in widths.items())
    return Found(
        values={
            "per_chip": each,
            "network": algebra.least_batch_across_pods(2, flop_per_s, rate) <= 2e6,
            "round": needs["round"] <= each,
            "real": needs["real"] <= each,
        },
        tables=(Rows(title="FSDP + TP inside each pod", header=header, rows=rows),),
    )


def ledger() -> Found:
    """FLOP and bytes of one block in both passes, in units of the document's table."""
    model = _cost_model("llama2-13b", _BATCH_Q3, _CHIPS_Q3)
    plan = Plan(fsdp=1024, tp=4, micro_batch=4, sharding="zero3")
    entries = layer_ledger(model, PlanTable.from_plans([plan]))
    d, f, b, x, y = model.job.model.hidden, _width("llama2-13b"), _BATCH_Q3, 1024, 4
    units = {"flop": b * d * f / (x * y), "tensor": b * d / x, "shard": d * f / y}
    values = {
        f"{name}_{side}": float(getattr(part, column)[0] / units[name])
        for side, part in (("forward", entries.forward), ("backward", entries.backward))
        for name, column in (
            ("flop", "flop"), ("tensor", "tensor_bytes"), ("shard", "shard_bytes"),
        )
    }  # fmt: skip
    return Found(values=values)


def question_1() -> Found:
    """Parameters of Llama 2 13B by part."""
    model = load_model("llama2-13b")
    vocabulary = model.embedding_parameters + model.head_parameters
    return Found(
        values={
            "feed_forward": model.layers * model.mlp_parameters(),
            "attention": model.layers * model.attention_parameters,
            "vocabulary": vocabulary,
            "summed": vocabulary,
            "total": model.total_parameters,
        }
    )


def question_2() -> Found:
    """Memory of training it with 16 M tokens, all chips together."""
    model = load_model("llama2-13b")
    saved = algebra.checkpoint_bytes(model.layers, model.hidden, _width(model.name), 16e6)
    return Found(
        values={"state": algebra.state_bytes(model.total_parameters), "activations": saved}
    )


def question_3() -> Found:
    """Data parallelism, FSDP and the mix on 16x16x16 with 3 M tokens."""
    cluster, _, alpha = _v5p()
    answer = feasible(
        model="llama2-13b", chips="16x16x16", batch_tokens=_BATCH_Q3,
        torus_axes="fsdp=2,tp=1", assumptions="roofline", strategies="dp,zero3,fsdp+tp",
    )  # fmt: skip
    dp, fsdp, mix = (row for row in answer.rows)
    cost = _cost_model("llama2-13b", _BATCH_Q3, _CHIPS_Q3, mfu=_MFU_Q3)
    plan = Plan(fsdp=1024, tp=4, micro_batch=4, sharding="zero3")
    found = evaluate_table(cost, PlanTable.from_plans([plan]))
    held = float(found.memory_per_chip_bytes[0])
    x_opt = algebra.optimal_fsdp(_BATCH_Q3, _width("llama2-13b"), _CHIPS_Q3, 2, 1)
    return Found(
        values={
            "slice": _CHIPS_Q3 * cluster.chip.memory_bytes,
            "dp": bool(dp.fits),
            "fsdp_fits": bool(fsdp.fits),
            "total": held * _CHIPS_Q3,
            "per_chip": held,
            "fsdp_needs": algebra.least_batch_data(_CHIPS_Q3, alpha, 3),
            "fsdp": bool(fsdp.feasible),
            "mixed_needs": algebra.least_batch_mixed(_width("llama2-13b"), 1, alpha, 2, 1),
            "mixed": bool(mix.feasible),
            "x_opt": x_opt,
            "x": (mix.x_opt_mesh or {}).get("fsdp", 0),
            "y": (mix.x_opt_mesh or {}).get("tp", 0),
            "step": float(found.step_time_s[0]),
        }
    )


def every_tpu() -> Found:
    """The thresholds of the document for each TPU of the database."""
    names = [name for name in list_clusters() if name.startswith("tpu-")]
    header = (
        "TPU", "C", "W", "alpha", "axes", "DP, one axis", "DP, all axes",
        f"FSDP + TP, F = {WIDTH:,}", "most TP, one axis", "per slice over DCN", "largest on one",
    )  # fmt: skip
    rows = tuple(_thresholds(load_cluster(name)) for name in names)
    title = "Tokens per chip from which each TPU is compute-bound, at bf16"
    table = Rows(title=title, header=header, rows=rows)
    return Found(values={"v5p": _alpha(load_cluster(V5P))}, tables=(table,))


def _thresholds(cluster: Cluster) -> tuple[str, ...]:
    """One row of `every_tpu`; of the axes all but one serve FSDP."""
    ici, dcn = cluster.levels[:2]
    assert ici.torus is not None
    axes, alpha, rate = len(ici.torus.pod), _alpha(cluster), cluster.chip.peak_flop_per_s["bf16"]
    return (
        cluster.name,
        f"{rate / 1e12:,.0f} TFLOP/s",
        f"{show_bytes(2 * ici.link_bandwidth_bytes_per_s)}/s",
        f"{alpha:,.0f}",
        f"{axes}",
        f"{algebra.least_batch_data(1, alpha, 1):,.0f}",
        f"{algebra.least_batch_data(1, alpha, axes):,.0f}",
        f"{algebra.least_batch_mixed(WIDTH, 1, alpha, axes - 1, 1):,.0f}",
        plain(algebra.largest_tp(WIDTH, alpha, 1)),
        f"{algebra.least_batch_across_pods(1, rate, dcn.bandwidth_bytes_per_s):,.0f}",
        f"{show_count(algebra.largest_model_data(cluster.chip.memory_bytes))} parameters",
    )


RUNS: Mapping[str, Callable[[], Found]] = {
    "one-chip": single_chip,
    "largest-model": largest_model,
    "dp": data_parallelism,
    "47000-chips": deepseek,
    "17-days": llama3_run,
    "tp-limit": tensor_limit,
    "int8": int8,
    "x-opt": optimal_split,
    "mixed": mixed,
    "ratio-figure": ratio_figure,
    "time-figure": time_figure,
    "split-figure": split_figure,
    "dcn": data_center,
    "two-pods": two_pods,
    "ledger": ledger,
    "q1": question_1,
    "q2": question_2,
    "q3": question_3,
    "tpus": every_tpu,
}
