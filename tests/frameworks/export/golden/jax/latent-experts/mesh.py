# planner 0.1.0: deepseek-v3, 2048 sequences of 4096 tokens, 256 chips of gb200-nvl72, dp 64, ep 64, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 16,15*3, recompute full
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 4 slices of 64 chips; axes outermost first
NAMES = ('stage', 'data_expert')
SIZES = (4, 64)
INSIDE = (1, 64)  # a slice
ACROSS = (4, 1)  # slices
PROCESS_IS_SLICE = False
SEQ_LEN = 4096
MICRO_BATCHES = 32
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 4, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.nothing_saveable
WEIGHTS = {
    'embedding': ((129280, 7168), P(None, None)),
    'layers.attention_norm': ((1, 4, 15, 7168), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((1, 4, 15, 7168), P(None, 'stage', None, None)),
    'layers.key_value_down': ((1, 4, 15, 7168, 576), P(None, 'stage', None, None, None)),
    'layers.key_value_up': ((1, 4, 15, 512, 128, 256), P(None, 'stage', None, None, None, None)),
    'layers.output': ((1, 4, 15, 128, 128, 7168), P(None, 'stage', None, None, None, None)),
    'layers.query_down': ((1, 4, 15, 7168, 1536), P(None, 'stage', None, None, None)),
    'layers.query_up': ((1, 4, 15, 1536, 128, 192), P(None, 'stage', None, None, None, None)),
    'layers.mlp_up': ((1, 4, 15, 7168, 18432), P(None, 'stage', None, None, None)),
    'layers.mlp_gate': ((1, 4, 15, 7168, 18432), P(None, 'stage', None, None, None)),
    'layers.mlp_down': ((1, 4, 15, 18432, 7168), P(None, 'stage', None, None, None)),
    'layers.router': ((1, 4, 15, 7168, 256), P(None, 'stage', None, None, None)),
    'layers.experts_up': ((1, 4, 15, 256, 7168, 2048), P(None, 'stage', None, 'data_expert', None, None)),
    'layers.experts_gate': ((1, 4, 15, 256, 7168, 2048), P(None, 'stage', None, 'data_expert', None, None)),
    'layers.experts_down': ((1, 4, 15, 256, 2048, 7168), P(None, 'stage', None, 'data_expert', None, None)),
    'layers.shared_up': ((1, 4, 15, 7168, 2048), P(None, 'stage', None, None, None)),
    'layers.shared_gate': ((1, 4, 15, 7168, 2048), P(None, 'stage', None, None, None)),
    'layers.shared_down': ((1, 4, 15, 2048, 7168), P(None, 'stage', None, None, None)),
    'norm': ((7168,), P(None)),
    'head': ((7168, 129280), P(None, None)),
}
OPTIMIZER = {
    'embedding': ((129280, 7168), P(None, 'data_expert')),
    'layers.attention_norm': ((1, 4, 15, 7168), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((1, 4, 15, 7168), P(None, 'stage', None, None)),
    'layers.key_value_down': ((1, 4, 15, 7168, 576), P(None, 'stage', None, 'data_expert', None)),
    'layers.key_value_up': ((1, 4, 15, 512, 128, 256), P(None, 'stage', None, None, None, None)),
    'layers.output': ((1, 4, 15, 128, 128, 7168), P(None, 'stage', None, None, None, 'data_expert')),
    'layers.query_down': ((1, 4, 15, 7168, 1536), P(None, 'stage', None, 'data_expert', None)),
    'layers.query_up': ((1, 4, 15, 1536, 128, 192), P(None, 'stage', None, None, None, None)),
    'layers.mlp_up': ((1, 4, 15, 7168, 18432), P(None, 'stage', None, 'data_expert', None)),
    'layers.mlp_gate': ((1, 4, 15, 7168, 18432), P(None, 'stage', None, 'data_expert', None)),
    'layers.mlp_down': ((1, 4, 15, 18432, 7168), P(None, 'stage', None, None, 'data_expert')),
    'layers.router': ((1, 4, 15, 7168, 256), P(None, 'stage', None, 'data_expert', None)),
    'layers.experts_up': ((1, 4, 15, 256, 7168, 2048), P(None, 'stage', None, 'data_expert', None, None)),
    'layers.experts_gate': ((1, 4, 15, 256, 7168, 2048), P(None, 'stage', None, 'data_expert', None, None)),
    'layers.experts_down': ((1, 4, 15, 256, 2048, 7168), P(None, 'stage', None, 'data_expert', None, None)),
    'layers.shared_up': ((1, 4, 15, 7168, 2048), P(None, 'stage', None, 'data_expert', None)),
    'layers.shared_gate': ((1, 4, 15, 7168, 2048), P(None, 'stage', None, 'data_expert', None)),
    'layers.shared_down': ((1, 4, 15, 2048, 7168), P(None, 'stage', None, None, 'data_expert')),
    'norm': ((7168,), P(None)),
    'head': ((7168, 129280), P('data_expert', None)),
}
ACTIVATIONS = {
    'tokens': ((64, 4096), P('data_expert', None)),
    'between_blocks': ((64, 4096, 7168), P('data_expert', None, None)),
    'heads': ((64, 4096, 128, 192), P('data_expert', None, None, None)),
    'logits': ((64, 4096, 129280), P('data_expert', None, None)),
    'mlp': ((64, 4096, 18432), P('data_expert', None, None)),
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
