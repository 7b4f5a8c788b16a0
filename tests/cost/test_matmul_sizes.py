"""Seconds of one matrix multiplication over its sizes."""

import numpy as np

from hardware_db import load_chip
from planner.assumptions.assumptions import calibrated
from planner.cost.kernels.compute import matmul_s


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
