# planner 0.1.0: llama3-8b, 32 sequences of 32768 tokens, 64 chips of dgx-h100-ndr, dp 8, tp 2, cp 4, micro-batch 1, zero1, recompute full
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 8 slices of 8 chips; axes outermost first
NAMES = ('data', 'context', 'tensor')
SIZES = (8, 4, 2)
INSIDE = (1, 4, 2)  # a slice
ACROSS = (8, 1, 1)  # slices
PROCESS_IS_SLICE = True
SEQ_LEN = 32768
MICRO_BATCHES = 4
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 1, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.nothing_saveable
WEIGHTS = {
    'embedding': ((128256, 4096), P('tensor', None)),
    'layers.attention_norm': ((1, 1, 32, 4096), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 32, 4096), P(None, None, None, None)),
    'layers.query': ((1, 1, 32, 4096, 32, 128), P(None, None, None, None, 'tensor', None)),
    'layers.key': ((1, 1, 32, 4096, 8, 128), P(None, None, None, None, 'tensor', None)),
    'layers.value': ((1, 1, 32, 4096, 8, 128), P(None, None, None, None, 'tensor', None)),
    'layers.output': ((1, 1, 32, 32, 128, 4096), P(None, None, None, 'tensor', None, None)),
    'layers.mlp_up': ((1, 1, 32, 4096, 14336), P(None, None, None, None, 'tensor')),
    'layers.mlp_gate': ((1, 1, 32, 4096, 14336), P(None, None, None, None, 'tensor')),
    'layers.mlp_down': ((1, 1, 32, 14336, 4096), P(None, None, None, 'tensor', None)),
    'norm': ((4096,), P(None)),
    'head': ((4096, 128256), P(None, 'tensor')),
}
OPTIMIZER = {
    'embedding': ((128256, 4096), P('tensor', ('data', 'context'))),
    'layers.attention_norm': ((1, 1, 32, 4096), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 32, 4096), P(None, None, None, None)),
    'layers.query': ((1, 1, 32, 4096, 32, 128), P(None, None, None, ('data', 'context'), 'tensor', None)),
    'layers.key': ((1, 1, 32, 4096, 8, 128), P(None, None, None, ('data', 'context'), 'tensor', None)),
    'layers.value': ((1, 1, 32, 4096, 8, 128), P(None, None, None, ('data', 'context'), 'tensor', None)),
    'layers.output': ((1, 1, 32, 32, 128, 4096), P(None, None, None, 'tensor', None, ('data', 'context'))),
    'layers.mlp_up': ((1, 1, 32, 4096, 14336), P(None, None, None, ('data', 'context'), 'tensor')),
    'layers.mlp_gate': ((1, 1, 32, 4096, 14336), P(None, None, None, ('data', 'context'), 'tensor')),
    'layers.mlp_down': ((1, 1, 32, 14336, 4096), P(None, None, None, 'tensor', ('data', 'context'))),
    'norm': ((4096,), P(None)),
    'head': ((4096, 128256), P(('data', 'context'), 'tensor')),
}
ACTIVATIONS = {
    'tokens': ((8, 32768), P('data', 'context')),
    'between_blocks': ((8, 32768, 4096), P('data', ('context', 'tensor'), None)),
    'heads': ((8, 32768, 32, 128), P('data', 'context', 'tensor', None)),
    'logits': ((8, 32768, 128256), P('data', 'context', 'tensor')),
    'mlp': ((8, 32768, 14336), P('data', 'context', 'tensor')),
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
