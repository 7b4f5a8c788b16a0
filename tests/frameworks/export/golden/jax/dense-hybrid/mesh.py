# planner 0.1.0: llama3.1-405b, 128 sequences of 8192 tokens, 512 chips of dgx-h100-ndr, dp 2, fsdp 16, tp 8, cp 2, micro-batch 1, zero3, recompute full
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 64 slices of 8 chips; axes outermost first
NAMES = ('data', 'fsdp', 'context', 'tensor')
SIZES = (2, 16, 2, 8)
INSIDE = (1, 1, 1, 8)  # a slice
ACROSS = (2, 16, 2, 1)  # slices
PROCESS_IS_SLICE = True
SEQ_LEN = 8192
MICRO_BATCHES = 4
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 1, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.nothing_saveable
WEIGHTS = {
    'embedding': ((128256, 16384), P('tensor', ('fsdp', 'context'))),
    'layers.attention_norm': ((1, 1, 126, 16384), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 126, 16384), P(None, None, None, None)),
    'layers.query': ((1, 1, 126, 16384, 128, 128), P(None, None, None, ('fsdp', 'context'), 'tensor', None)),
    'layers.key': ((1, 1, 126, 16384, 8, 128), P(None, None, None, ('fsdp', 'context'), 'tensor', None)),
    'layers.value': ((1, 1, 126, 16384, 8, 128), P(None, None, None, ('fsdp', 'context'), 'tensor', None)),
    'layers.output': ((1, 1, 126, 128, 128, 16384), P(None, None, None, 'tensor', None, ('fsdp', 'context'))),
    'layers.mlp_up': ((1, 1, 126, 16384, 53248), P(None, None, None, ('fsdp', 'context'), 'tensor')),
    'layers.mlp_gate': ((1, 1, 126, 16384, 53248), P(None, None, None, ('fsdp', 'context'), 'tensor')),
    'layers.mlp_down': ((1, 1, 126, 53248, 16384), P(None, None, None, 'tensor', ('fsdp', 'context'))),
    'norm': ((16384,), P(None)),
    'head': ((16384, 128256), P(('fsdp', 'context'), 'tensor')),
}
OPTIMIZER = {
    'embedding': ((128256, 16384), P('tensor', ('fsdp', 'context'))),
    'layers.attention_norm': ((1, 1, 126, 16384), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 126, 16384), P(None, None, None, None)),
    'layers.query': ((1, 1, 126, 16384, 128, 128), P(None, None, None, ('fsdp', 'context'), 'tensor', None)),
    'layers.key': ((1, 1, 126, 16384, 8, 128), P(None, None, None, ('fsdp', 'context'), 'tensor', None)),
    'layers.value': ((1, 1, 126, 16384, 8, 128), P(None, None, None, ('fsdp', 'context'), 'tensor', None)),
    'layers.output': ((1, 1, 126, 128, 128, 16384), P(None, None, None, 'tensor', None, ('fsdp', 'context'))),
    'layers.mlp_up': ((1, 1, 126, 16384, 53248), P(None, None, None, ('fsdp', 'context'), 'tensor')),
    'layers.mlp_gate': ((1, 1, 126, 16384, 53248), P(None, None, None, ('fsdp', 'context'), 'tensor')),
    'layers.mlp_down': ((1, 1, 126, 53248, 16384), P(None, None, None, 'tensor', ('fsdp', 'context'))),
    'norm': ((16384,), P(None)),
    'head': ((16384, 128256), P(('fsdp', 'context'), 'tensor')),
}
ACTIVATIONS = {
    'tokens': ((32, 8192), P(('data', 'fsdp'), 'context')),
    'between_blocks': ((32, 8192, 16384), P(('data', 'fsdp'), ('context', 'tensor'), None)),
    'heads': ((32, 8192, 128, 128), P(('data', 'fsdp'), 'context', 'tensor', None)),
    'logits': ((32, 8192, 128256), P(('data', 'fsdp'), 'context', 'tensor')),
    'mlp': ((32, 8192, 53248), P(('data', 'fsdp'), 'context', 'tensor')),
}

def device_mesh():
    """The mesh on the devices of this job."""
    if math.prod(ACROSS) == 1:
        return jax.make_mesh(SIZES, NAMES)
    devices = mesh_utils.create_hybrid_device_mesh(
        INSIDE, ACROSS, process_is_granule=PROCESS_IS_SLICE
    )
    return jax.sharding.Mesh(devices, NAMES)


def abstract_mesh():
    """The mesh without devices, to look at shapes anywhere."""
    return jax.sharding.AbstractMesh(SIZES, NAMES)


def sharding(mesh, spec, host=False):
    """Where an array lies; on the host where a part of the job is offloaded."""
    if host:
        return jax.sharding.NamedSharding(mesh, spec, memory_kind="pinned_host")
    return jax.sharding.NamedSharding(mesh, spec)


def shards(mesh):
    """Name to the shape that one device holds; axes that do not divide it are an error."""
    return {
        f"{kind}.{name}": sharding(mesh, spec).shard_shape(shape)
        for kind, table in (
            ("weights", WEIGHTS), ("optimizer", OPTIMIZER), ("activations", ACTIVATIONS)
        )
        for name, (shape, spec) in table.items()
    }


def accumulated(loss_and_gradients, weights, tokens):
    """Mean of loss and gradients over the micro-batches of a step, tokens (sequences, tokens)."""
    rows = tokens.reshape(MICRO_BATCHES, -1, SEQ_LEN)

    def one(total, micro_batch):
        return jax.tree.map(jax.numpy.add, total, loss_and_gradients(weights, micro_batch)), None

    zeros = jax.tree.map(jax.numpy.zeros_like, jax.eval_shape(loss_and_gradients, weights, rows[0]))
    total, _ = jax.lax.scan(one, zeros, rows)
    return jax.tree.map(lambda value: value / MICRO_BATCHES, total)


def layer_of(function):
    """A layer whose activations are kept or computed again as the plan says."""
    return jax.checkpoint(function, policy=POLICY)


if __name__ == "__main__":
    mesh = abstract_mesh() if "--abstract" in sys.argv else device_mesh()
    print(mesh)
    for name, shape in shards(mesh).items():
        print(name, shape)
