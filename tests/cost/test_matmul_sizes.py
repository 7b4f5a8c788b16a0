"""Seconds of one matrix multiplication over its sizes."""

import numpy as np
import pytest

from hardware_db import load_chip
from planner.assumptions.assumptions import calibrated
from planner.cost.kernels import linears
from planner.cost.kernels.compute import matmul_s
from planner.cost.kernels.linears import Linear


def test_a_larger_product_takes_no_less_time() -> None:
    """Within 4 %: small sides are slow by two factors, of which one counts whole waves."""
    a = calibrated(load_chip("h100-sxm5-80"), "megatron-core")
    rng, clock = np.random.default_rng(5), np.array(1.0)
    sizes = np.exp(rng.uniform(np.log(16), np.log(32768), (3, 20000))).round()
    copies = rng.choice([1.0, 8.0, 32.0], 20000)
    times = matmul_s(a, *sizes, clock=clock, flop_per_s=a.matmul_flop_per_s, copies=copies)
    for side in range(3):
        more = sizes.copy()
        more[side] *= rng.uniform(1.0, 1.3, 20000)
        longer = matmul_s(a, *more, clock=clock, flop_per_s=a.matmul_flop_per_s, copies=copies)
        assert (longer > times / 1.04).all(), (side, (times / longer).max())


@pytest.mark.parametrize("plans", [1, 7])
def test_products_of_many_plans_are_timed_in_parts(
    plans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same seconds, however many fit in memory; with a clock of each or one of all."""
    a = calibrated(load_chip("h100-sxm5-80"), "megatron-core")
    tokens = np.arange(1.0, plans + 1)[:, None] * 512
    products = [
        Linear(tokens=tokens, inputs=4096.0, outputs=2048.0),
        Linear(tokens=2 * tokens, inputs=1024.0, outputs=512.0, copies=4.0, routed=True),
    ]
    for clock in (np.array([[1.0, 0.8]]), np.linspace(0.6, 1.0, 2 * plans).reshape(plans, 2)):
        whole = linears.seconds(a, products, clock)
        for most in (4, 8, 1000):
            with monkeypatch.context() as patch:
                patch.setattr(linears, "_AT_A_TIME", most)
                parts = linears.seconds(a, products, clock)
            for name in whole.__dataclass_fields__:
                found, expected = getattr(parts, name), getattr(whole, name)
                np.testing.assert_array_equal(found, expected)
