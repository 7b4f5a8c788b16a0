"""Traces the model of a MaxText configuration, with its own kernels, on devices that are no more
than names.

Only shapes are computed. Transformer Engine's attention, which is written in CUDA, is stood for by
a layer of the same fields; all that MaxText itself checks before it is checked.
"""

import math
import sys
import types
from typing import Any


class Memory(str):
    """What a sharding asks of a memory: its kind, which it compares with the memory itself."""

    __slots__ = ()

    @property
    def kind(self):
        return str(self)


class Client:
    """The process of all devices."""

    def process_index(self):
        return 0


class Device:
    """What a mesh asks of a device, of a platform that need not be there."""

    client = Client()
    memories = (Memory("device"), Memory("pinned_host"))

    def __init__(self, number, platform):
        self.id, self.platform, self.device_kind = number, platform, platform
        self.process_index = 0

    def addressable_memories(self):
        return list(self.memories)

    def default_memory(self):
        return self.memories[0]


def stand_for_transformer_engine():
    from flax import linen  # noqa: PLC0415 (a failure is an answer)

    class DotProductAttention(linen.Module):
        head_dim: int
        num_attention_heads: int
        num_gqa_groups: int
        attn_mask_type: str
        attn_bias_type: str
        attention_dropout: float
        dropout_rng_name: str
        dtype: Any
        float32_logits: bool
        qkv_layout: str
        scale_factor: float
        transpose_batch_sequence: bool
        window_size: Any
        context_parallel_causal_load_balanced: bool
        context_parallel_axis: str
        context_parallel_strategy: str
        max_segments_per_seq: int

        def __call__(self, query, key, value, sequence_descriptor=None):
            return query

    name = "transformer_engine"
    for part in ("", ".jax", ".jax.flax", ".jax.flax.transformer", ".jax.attention"):
        sys.modules[name + part] = types.ModuleType(name + part)
    sys.modules[f"{name}.jax.flax.transformer"].DotProductAttention = DotProductAttention
    sys.modules[f"{name}.jax.attention"].SequenceDescriptor = None


def mesh_of(config, devices, slices):
    """The axes of the slices, times those over slices."""
    import jax  # noqa: PLC0415 (a failure is an answer)
    import numpy as np  # noqa: PLC0415 (as above)
    from maxtext.utils import max_utils  # noqa: PLC0415 (as above)

    inside = list(config.ici_parallelism)
    sizes = max_utils.fill_unspecified_mesh_axes(inside, devices // slices, "ICI")
    if slices > 1:
        across = max_utils.fill_unspecified_mesh_axes(list(config.dcn_parallelism), slices, "DCN")
        sizes = [one * other for one, other in zip(sizes, across, strict=True)]
    named = [Device(number, config.hardware) for number in range(devices)]
    return jax.sharding.Mesh(np.array(named).reshape(sizes), config.mesh_axes)


def divide(config, mesh):
    """Asks MaxText for the arrays that training starts with, and JAX to divide them.

    Weights, optimizer and batch; and that weights are on all axes that share them, which MaxText
    asks where there is no pipeline.
    """
    import jax  # noqa: PLC0415 (a failure is an answer)
    from flax import nnx  # noqa: PLC0415 (as above)
    from maxtext.trainers.pre_train import train_compile  # noqa: PLC0415 (as above)
    from maxtext.utils import sharding  # noqa: PLC0415 (as above)

    (state, batch), *_ = train_compile.get_shaped_inputs(mesh, config)
    for array in jax.tree_util.tree_leaves((state, batch)):
        if array.sharding is not None:
            array.sharding.shard_shape(array.shape)
    if not config.using_pipeline_parallelism:
        weights = nnx.split_state(state.model, nnx.Param, ...)[0]
        sharding.assert_params_sufficiently_sharded(weights, mesh, config.sharding_tolerance)


def parameters(config, devices, slices):
    """Of the model that MaxText builds and divides, whose arrays are shapes only."""
    import jax  # noqa: PLC0415 (a failure is an answer)
    import tokamax  # noqa: PLC0415 (as above)
    from flax import linen  # noqa: PLC0415 (as above)
    from maxtext.layers import quantizations  # noqa: PLC0415 (as above)
    from maxtext.models import models  # noqa: PLC0415 (as above)

    stand_for_transformer_engine()
    mesh = mesh_of(config, devices, slices)
    divide(config, mesh)
    theirs = config.quantization.startswith("te_")
    quant = None if theirs else quantizations.configure_quantization(config)
    model = models.transformer_as_linen(config, mesh, quant=quant, model_mode="train")
    batch = (config.micro_batch_size_to_train_on, config.max_target_length)
    key = jax.random.PRNGKey(0)

    def build():
        tokens = jax.numpy.ones(batch, jax.numpy.int32)
        return model.init({"params": key, "dropout": key, "aqt": key}, tokens, tokens, tokens)

    rules = linen.logical_axis_rules(config.logical_axis_rules)
    with tokamax.config.cross_compile(True), mesh, rules:
        shapes = jax.eval_shape(build)
    return sum(math.prod(array.shape) for array in jax.tree_util.tree_leaves(shapes["params"]))
