"""Asks a checkout of Megatron-LM about launches; a program of its own, as it needs torch.

    python megatron_checker.py CHECKOUT < launches.json > answers.json

A launch is {"args": [...], "world": ranks, "environment": {...}, "hopper": bool}. An answer is
{"accepted": bool, "why": text, "layers": [[layers of every chunk] of every stage], "micro": n}.
Its own checks run: validate_args, TransformerConfig, initialize_model_parallel without the groups
that it would create, get_num_layers_to_build of every stage and chunk (for a layout string the
count of its own parser), the micro-batch calculator. Replaced are questions about the GPU and the
kernels of Transformer Engine, which is not installed; what TEGroupedMLP asserts is asserted here.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import typing
import warnings

import torch
import torch.distributed as ranks
import typing_extensions
from packaging.version import Version

KERNELS = "2.14.0"
FUSED = {
    "models.common.embeddings.rope_utils": ("apply_rotary_pos_emb", "apply_rotary_pos_emb_thd"),
    "transformer.moe.moe_utils": (
        "permute", "permute_with_probs", "sort_chunks_by_index", "sort_chunks_by_index_with_probs",
        "unpermute",
    ),
}  # fmt: skip
"""Modules of megatron.core to the kernels that they ask for, without `fused_`."""


def prepared(checkout):
    """The modules of Megatron-LM, with a GPU that answers."""
    typing.override = typing_extensions.override
    sys.path.insert(0, checkout)
    from megatron.core import utils  # noqa: PLC0415 (its path is an argument)
    from megatron.training import arguments  # noqa: PLC0415 (its path is an argument)

    utils._te_version = Version(KERNELS)
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    for module, names in FUSED.items():
        for name in names:
            setattr(importlib.import_module(f"megatron.core.{module}"), f"fused_{name}", object())
    return arguments


def lay_out_ranks(args):
    """Lays out the groups of all ranks and creates none; it raises where they contradict."""
    from megatron.core import parallel_state  # noqa: PLC0415 (its path is an argument)

    before = dict(vars(parallel_state))
    parallel_state.create_group = lambda *_, **__: object()
    ranks.is_initialized, ranks.get_rank = lambda: True, lambda *_: 0
    ranks.get_world_size = lambda *_: args.world_size
    try:
        parallel_state.initialize_model_parallel(
            args.tensor_model_parallel_size,
            args.pipeline_model_parallel_size,
            args.virtual_pipeline_model_parallel_size,
            context_parallel_size=args.context_parallel_size,
            expert_model_parallel_size=args.expert_model_parallel_size,
            expert_tensor_parallel_size=args.expert_tensor_parallel_size,
            num_distributed_optimizer_instances=args.num_distributed_optimizer_instances,
            order="tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp",
        )
    finally:
        vars(parallel_state).update(before)
        ranks.is_initialized = lambda: False


def layers_of(config):
    """Layers of every chunk of every stage."""
    from megatron.core.transformer.enums import LayerType  # noqa: PLC0415 (its path is an argument)
    from megatron.core.transformer.transformer_block import get_num_layers_to_build  # noqa: PLC0415 (its path is an argument)

    stages = range(config.pipeline_model_parallel_size)
    layout = config.pipeline_model_parallel_layout
    if layout is not None:
        return [[c.count(LayerType.decoder) for c in layout.layout[s]] for s in stages]
    chunks = config.virtual_pipeline_model_parallel_size
    return [
        [
            get_num_layers_to_build(config, vp_stage=chunk, pp_rank=stage)
            for chunk in ([None] if chunks is None else range(chunks))
        ]
        for stage in stages
    ]


def configured(arguments, launch):
    """The arguments of a launch after Megatron-LM's checks, and its configuration of the model."""
    arguments.get_device_arch_version = lambda: 9 if launch["hopper"] else 10
    sys.argv = ["pretrain_gpt.py", *launch["args"]]
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    os.environ.update(launch["environment"], WORLD_SIZE=str(launch["world"]), RANK="0")
    args = arguments.validate_args(arguments.parse_args())
    return args, arguments.core_transformer_config_from_args(args)


def judged(arguments, launch):
    """What Megatron-LM makes of one launch; it raises where it refuses."""
    from megatron.core import num_microbatches_calculator as calculator  # noqa: PLC0415 (its path is an argument)

    args, config = configured(arguments, launch)
    lay_out_ranks(args)
    if config.num_moe_experts and config.moe_grouped_gemm:
        assert not (config.add_bias_linear and config.bias_dropout_fusion), "TEGroupedMLP"
    layers = layers_of(config)
    built = sum(map(sum, layers))
    if built != args.num_layers:
        raise ValueError(f"the stages build {built} layers of {args.num_layers}")
    calculator.unset_num_microbatches_calculator()
    calculator.init_num_microbatches_calculator(
        0, None, args.global_batch_size, args.micro_batch_size, args.data_parallel_size, False
    )
    return layers, calculator.get_num_microbatches()


def main():
    """Reads launches, prints answers."""
    warnings.simplefilter("ignore")
    answers, said = [], io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        arguments = prepared(sys.argv[1])
        for launch in json.load(sys.stdin):
            try:
                layers, micro = judged(arguments, launch)
                answers.append({"accepted": True, "why": "", "layers": layers, "micro": micro})
            except (Exception, SystemExit) as error:
                why = f"{type(error).__name__}: {error}" if str(error) != "2" else said.getvalue()
                answers.append({"accepted": False, "why": why[-600:], "layers": [], "micro": 0})
            said.truncate(0)
            said.seek(0)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
