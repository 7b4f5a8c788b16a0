"""PyTorch's own FLOP of a checkpointed layer against what the cost model multiplies again."""

from typing import Any

import pytest

from models_db import load_model
from planner.cost.kernels.shapes import left_out, selected, shapes_of

pytestmark = pytest.mark.oracle
MODEL = "llama3-8b"
TOKENS = 8


def _products(**how: Any) -> float:
    """FLOP of forward and backward products of one layer, attention left out, checkpointed."""
    torch = pytest.importorskip("torch")
    checkpointing = pytest.importorskip("torch.utils.checkpoint")
    counting = pytest.importorskip("torch.utils.flop_counter")
    shapes = shapes_of(load_model(MODEL), TOKENS)
    hidden, keys = shapes.hidden, shapes.kv_heads * shapes.head_dim
    sizes = [(hidden, hidden), (hidden, keys), (hidden, keys), (hidden, hidden)]
    sizes += [(hidden, shapes.dense_width)] * 2 + [(shapes.dense_width, hidden)]
    q, k, v, out, gate, up, down = (torch.nn.Linear(i // 16, o // 16, bias=False) for i, o in sizes)

    def layer(x: Any) -> Any:
        mixed = torch.tanh(q(x)) + torch.cat([torch.tanh(k(x)), torch.tanh(v(x))] * 2, -1)
        x = x + out(mixed)
        return x + down(torch.tanh(gate(x)) * torch.tanh(up(x)))

    x = torch.randn(TOKENS, hidden // 16, requires_grad=True)
    with counting.FlopCounterMode(display=False) as counted:
        checkpointing.checkpoint(layer, x, use_reentrant=False, **how).sum().backward()
    return float(counted.get_total_flops())


def test_a_checkpoint_that_is_not_reentrant_stops_before_the_last_product() -> None:
    shapes = shapes_of(load_model(MODEL), TOKENS)
    whole = 2.0 * TOKENS * shapes.dense_parameters / 16**2
    again = _products() / whole - 3
    assert again == pytest.approx(1 - left_out(shapes, stops_early=True), rel=0.01)
    late = _products(early_stop=False) / whole - 3
    assert late == pytest.approx(1, rel=0.01)


def test_every_second_product_is_multiplied_again() -> None:
    torch = pytest.importorskip("torch")
    checkpointing = pytest.importorskip("torch.utils.checkpoint")
    policies = checkpointing.CheckpointPolicy
    shapes = shapes_of(load_model(MODEL), TOKENS)

    def contexts() -> Any:
        seen = {True: 0, False: 0}

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            if op is not torch.ops.aten.mm.default:
                return policies.PREFER_RECOMPUTE
            seen[ctx.is_recompute] += 1
            odd = seen[ctx.is_recompute] % 2
            return policies.MUST_SAVE if odd else policies.PREFER_RECOMPUTE

        return checkpointing.create_selective_checkpoint_contexts(policy)

    whole = 2.0 * TOKENS * shapes.dense_parameters / 16**2
    again = _products(context_fn=contexts) / whole - 3
    assert again == pytest.approx(selected(shapes, "second-matmuls", 0.0), rel=0.01)
