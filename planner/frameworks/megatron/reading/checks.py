"""Arguments that Megatron-LM does not start with.

Source: megatron/training/arguments.py (`validate_args`), core/transformer/transformer_config.py and
core/optimizer/optimizer_config.py, d98e8a64dd (2026-08-22). The other parts of this reader check
what they take; these arguments exclude each other across the parts. Looking at a flag here does not
make it a part of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.base.numerals import is_digits
from planner.frameworks.reading.settings import LaunchSettings
from planner.plan import Plan

_GATHER = "--overlap-param-gather"
_REDUCE = "--overlap-grad-reduce"
_FSDP, _FSDP2 = "--use-megatron-fsdp", "--use-torch-fsdp2"
_SHARES = "--use-distributed-optimizer"
_EXCHANGE = "--overlap-moe-expert-parallel-comm"
_FUSED_SUMS = "--no-gradient-accumulation-fusion"
_AWARE = "--use-precision-aware-optimizer"

_Demand = tuple[str, bool, str]
"""A flag, whether Megatron-LM takes it here, and with what it does."""


def check_combinations(launch: LaunchSettings, plan: Plan) -> None:
    """Notes what Megatron-LM refuses of flags that stand together.

    Args:
        launch: The settings.
        plan: What they say.
    """
    for part in (_overlaps, _shards, _torch_shards, _experts, _memory, _lengths, _doubled):
        for name, holds, words in part(launch, plan):
            if name in launch.values and not holds:
                launch.wrong(name, f"Megatron-LM takes it {words}")
    if launch.look("--fp4-format") and launch.look("--fp8-format"):
        launch.wrong("--fp4-format", "stands beside --fp8-format; keep one")


def _overlaps(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """What hides the collectives of tp and of data ranks."""
    given, written = launch.values, launch.look("--ckpt-format", "torch_dist")
    needed = "--sequence-parallel" if plan.tp > 1 else "tp above 1"
    yield "--tp-comm-overlap", plan.sequence_parallel, f"with {needed} only; leave it out"
    muon = launch.look("--optimizer") == "dist_muon"
    shared = muon or _SHARES in given or _FSDP in given
    yield _GATHER, shared, f"beside {_SHARES} or {_FSDP} only"
    yield _GATHER, _REDUCE in given, f"beside {_REDUCE} only"
    late = "--overlap-param-gather-with-optimizer-step"
    yield late, _SHARES in given, f"beside {_SHARES} only"
    yield late, _GATHER in given, f"beside {_GATHER} only"
    yield late, plan.interleave > 1, "with several chunks on a stage only"
    gathers = bool({_SHARES, _FSDP, _FSDP2} & given.keys())
    yield "--fp8-param-gather", gathers, f"beside {_SHARES}, {_FSDP} or {_FSDP2} only"
    yield late, written == "torch", f"beside --ckpt-format torch only, not {written}"


def _shards(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """Megatron-FSDP, whose checkpoints have a format of their own."""
    written = launch.look("--ckpt-format", "torch_dist")
    optimizer = launch.look("--optimizer", "adam")
    whole = (
        launch.look("--data-parallel-sharding-strategy") == "no_shard" and _FSDP in launch.values
    )
    yield _FSDP, written == "fsdp_dtensor", f"beside --ckpt-format fsdp_dtensor only, not {written}"
    yield _FSDP, optimizer in {"adam", "sgd"}, f"beside --optimizer adam or sgd, not {optimizer}"
    yield "--init-model-with-meta-device", not whole, "without no_shard only; leave it out"
    for name, needed in (("fsdp_dtensor", _FSDP), ("torch_dcp", _FSDP2)):
        fits = written != name or needed in launch.values
        yield "--ckpt-format", fits, f"as {name} beside {needed} only"


def _torch_shards(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """PyTorch's FSDP."""
    given, written = launch.values, launch.look("--ckpt-format", "torch_dist")
    untied = "--untie-embeddings-and-output-weights"
    yield _FSDP2, plan.ep == 1, f"without ep, not ep {plan.ep}"
    yield _FSDP2, "--fp16" not in given, "without --fp16; take --bf16"
    yield _FSDP2, untied in given, f"beside {untied} only"
    yield _FSDP2, _FUSED_SUMS in given, f"beside {_FUSED_SUMS} only"
    formats = "torch_dist or torch_dcp"
    yield _FSDP2, written in formats.split(), f"beside --ckpt-format {formats}, not {written}"


def _experts(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """Exchanges of experts that hide behind another micro-batch."""
    given = launch.values
    sent = launch.look("--moe-token-dispatcher-type", "allgather")
    again = launch.look("--recompute-granularity") == "full"
    spread, wide = plan.expert_ranks if "--num-experts" in given else plan.tp, plan.tp * plan.cp
    alike = plan.pp == 1 or spread == wide
    words = f"with as many data ranks of experts as of attention only: ep of {wide} here"
    yield "--use-tp-pp-dp-mapping", alike, words
    yield _EXCHANGE, plan.ep > 1, "with ep above 1 only"
    chunked = plan.pp == 1 or plan.interleave > 1
    yield _EXCHANGE, chunked, f"without a pipeline, or with several chunks, not with pp {plan.pp}"
    words = f"beside --moe-token-dispatcher-type alltoall or flex only, not {sent}"
    yield _EXCHANGE, sent in {"alltoall", "flex"}, words
    yield _EXCHANGE, not again, "without full recomputation only"
    yield _EXCHANGE, "moe" not in _modules(launch), "without moe in --recompute-modules only"
    words = "without shared_experts in --recompute-modules only"
    yield "--moe-shared-expert-overlap", "shared_experts" not in _modules(launch), words
    yield _EXCHANGE, bool({"--bf16", "--fp16"} & set(given)), "beside --bf16 or --fp16 only"
    few = launch.look("--mtp-num-layers", "0").strip("0") in {"", "1"}
    yield _EXCHANGE, few, "with one module of multi-token prediction at most"
    alone = "--moe-shared-expert-overlap" not in given
    yield _EXCHANGE, alone, "without --moe-shared-expert-overlap only"
    yield "--delay-wgrad-compute", _EXCHANGE in given, f"beside {_EXCHANGE} only"


def _modules(launch: LaunchSettings) -> set[str]:
    """Modules that recompute."""
    some = launch.look("--recompute-granularity") == "selective"
    return {*launch.values.get("--recompute-modules", ())} if some else set()


def _memory(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """What recomputation and offloading go with."""
    given, spread = launch.values, "--distribute-saved-activations"
    full = launch.look("--recompute-granularity") == "full"
    moved = bool(launch.look("--cpu-offloading-num-layers", "0").strip("0"))
    again = bool(launch.look("--recompute-granularity")) or "--recompute-activations" in given
    moves = "--cpu-offloading-num-layers"
    quantized = "--fp8-format" in given and launch.look("--fp8-recipe", "delayed") == "delayed"
    outputs = _modules(launch) & {"layernorm", "moe_act"}
    words = f"without {' and '.join(sorted(outputs))} where --fp8-recipe is delayed"
    yield "--recompute-modules", not (quantized and outputs), words
    yield spread, plan.tp > 1, "with tp above 1 only"
    yield spread, full, "beside --recompute-granularity full only"
    yield moves, not moved or plan.pp == 1, f"without pipelines only, not with pp {plan.pp}"
    yield moves, not (moved and again), "without recomputation only"
    yield "--optimizer-cpu-offload", _AWARE in given, f"beside {_AWARE} only"
    yield _AWARE, _SHARES in given or _FSDP in given, f"beside {_SHARES} only"


def _lengths(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """Sequences are no longer than the table of positions, and divide over cp."""
    name, length = "--max-position-embeddings", launch.look("--seq-length")
    rows = launch.look(name)
    known = is_digits(rows) and is_digits(length)
    fits = not known or int(rows[:12]) >= int(length[:12])
    yield name, fits, f"as --seq-length {length} or more, not {rows}"


def _doubled(launch: LaunchSettings, plan: Plan) -> Iterator[_Demand]:
    """Two flags for one thing: the length of a run and its learning rate, layers, sequences."""
    pairs = (
        ("--train-samples", "--train-iters"),
        ("--lr-decay-samples", "--train-iters"),
        ("--lr-warmup-samples", "--train-iters"),
        ("--lr-decay-iters", "--train-samples"),
        ("--lr-warmup-iters", "--train-samples"),
        ("--lr-warmup-fraction", "--lr-warmup-iters"),
        ("--lr-warmup-fraction", "--lr-warmup-samples"),
        ("--encoder-num-layers", "--num-layers"),
        ("--encoder-seq-length", "--seq-length"),
    )
    given = {name for name in launch.values if launch.look(name) != "0"}
    for name, other in pairs:
        yield name, not {name, other} <= given, f"without {other} only"
