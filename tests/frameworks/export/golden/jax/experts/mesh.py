# planner 0.1.0: mixtral-8x7b, 256 sequences of 4096 tokens, 128 chips of dgx-h100-ndr, dp 32, tp 2, ep 8, pp 2, micro-batch 1, zero1, 1f1b, split even, recompute none
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 16 slices of 8 chips; axes outermost first
NAMES = ('stage', 'data', 'data_expert', 'tensor_expert')
SIZES = (2, 8, 4, 2)
INSIDE = (1, 1, 4, 2)  # a slice
ACROSS = (2, 8, 1, 1)  # slices
PROCESS_IS_SLICE = True
SEQ_LEN = 4096
MICRO_BATCHES = 8
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 2, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.everything_saveable
WEIGHTS = {
    'embedding': ((32000, 4096), P('tensor_expert', None)),
    'layers.attention_norm': ((1, 2, 16, 4096), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((1, 2, 16, 4096), P(None, 'stage', None, None)),
    'layers.query': ((1, 2, 16, 4096, 32, 128), P(None, 'stage', None, None, 'tensor_expert', None)),
    'layers.key': ((1, 2, 16, 4096, 8, 128), P(None, 'stage', None, None, 'tensor_expert', None)),
    'layers.value': ((1, 2, 16, 4096, 8, 128), P(None, 'stage', None, None, 'tensor_expert', None)),
    'layers.output': ((1, 2, 16, 32, 128, 4096), P(None, 'stage', None, 'tensor_expert', None, None)),
    'layers.router': ((1, 2, 16, 4096, 8), P(None, 'stage', None, None, None)),
    'layers.experts_up': ((1, 2, 16, 8, 4096, 14336), P(None, 'stage', None, ('data_expert', 'tensor_expert'), None, None)),
    'layers.experts_gate': ((1, 2, 16, 8, 4096, 14336), P(None, 'stage', None, ('data_expert', 'tensor_expert'), None, None)),
    'layers.experts_down': ((1, 2, 16, 8, 14336, 4096), P(None, 'stage', None, ('data_expert', 'tensor_expert'), None, None)),
    'norm': ((4096,), P(None)),
    'head': ((4096, 32000), P(None, 'tensor_expert')),
}
OPTIMIZER = {
    'embedding': ((32000, 4096), P('tensor_expert', ('data', 'data_expert'))),
    'layers.attention_norm': ((1, 2, 16, 4096), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((1, 2, 16, 4096), P(None, 'stage', None, None)),
    'layers.query': ((1, 2, 16, 4096, 32, 128), P(None, 'stage', None, ('data', 'data_expert'), 'tensor_expert', None)),
    'layers.key': ((1, 2, 16, 4096, 8, 128), P(None, 'stage', None, ('data', 'data_expert'), 'tensor_expert', None)),
    'layers.value': ((1, 2, 16, 4096, 8, 128), P(None, 'stage', None, ('data', 'data_expert'), 'tensor_expert', None)),
    'layers.output': ((1, 2, 16, 32, 128, 4096), P(None, 'stage', None, 'tensor_expert', None, ('data', 'data_expert'))),
    'layers.router': ((1, 2, 16, 4096, 8), P(None, 'stage', None, ('data', 'data_expert'), None)),
    'layers.experts_up': ((1, 2, 16, 8, 4096, 14336), P(None, 'stage', None, ('data_expert', 'tensor_expert'), 'data', None)),
    'layers.experts_gate': ((1, 2, 16, 8, 4096, 14336), P(None, 'stage', None, ('data_expert', 'tensor_expert'), 'data', None)),
    'layers.experts_down': ((1, 2, 16, 8, 14336, 4096), P(None, 'stage', None, ('data_expert', 'tensor_expert'), None, 'data')),
    'norm': ((4096,), P(None)),
    'head': ((4096, 32000), P(('data', 'data_expert'), 'tensor_expert')),
}
ACTIVATIONS = {
    'tokens': ((32, 4096), P(('data', 'data_expert'), None)),
    'between_blocks': ((32, 4096, 4096), P(('data', 'data_expert'), 'tensor_expert', None)),
    'heads': ((32, 4096, 32, 128), P(('data', 'data_expert'), None, 'tensor_expert', None)),
    'logits': ((32, 4096, 32000), P(('data', 'data_expert'), None, 'tensor_expert')),
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
