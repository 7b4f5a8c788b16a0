"""What the pictures are drawn from."""

import numpy as np
import pytest
from support.cases import each

from planner.base.messages import Origin
from planner.studies.feasibility.pictured import pictured
from planner.studies.feasibility.textbook.curves import machine_of
from planner.studies.feasibility.textbook.meshes import mesh_limits
from studies.feasibility.test_feasible_model import BY_NAME, roofline


@each(("hardware", "axes"), [("tpu-v5p", 2.0), ("tpu-v5e", 1.0)])
def test_all_axes_but_one_are_for_fsdp(hardware: str, axes: float) -> None:
    machine = machine_of(roofline("llama3-70b", hardware), 256)
    assert machine is not None
    assert machine.axes is not None
    assert machine.axes[0] / machine.axes[1] == axes


def test_a_switched_cluster_has_whole_meshes() -> None:
    model = roofline("llama3-70b", "dgx-h100-ndr")
    machine, limits = machine_of(model, 512), mesh_limits(model, BY_NAME["fsdp+tp"], 512, np.inf)
    assert machine is not None
    assert limits is not None
    assert machine.axes is None
    assert machine.crossing() == pytest.approx(limits.least.min(), rel=1e-6)
    x, parts = machine.whole_splits(1e6)
    assert parts.shape == (2, len(x))
    best, seconds = machine.least_split(1e6)
    assert seconds == pytest.approx(float(machine.mixed_s(np.array([1e6]))[0]))
    assert best in x


def test_the_ratio_is_one_at_the_crossing() -> None:
    machine = machine_of(roofline("llama3-70b", "tpu-v5p"), 64)
    assert machine is not None
    at = np.array([machine.crossing()])
    assert machine.math_s(at) / machine.mixed_s(at) == pytest.approx(1.0)
    pure = np.array([850.0 * 64])
    assert machine.math_s(pure) / machine.fsdp_s(pure) == pytest.approx(1.0)
    ratios = machine.math_s(machine.batches()) / machine.tp_s(machine.batches())
    assert ratios == pytest.approx(ratios[0])


def test_the_slices_of_the_chapter() -> None:
    drawn = pictured(["llama3-70b"], {}, Origin())
    assert [drawn.slice_of(m) for m in (drawn.ratio, drawn.time)] == ["4x4x4", "16x16x16"]
    assert drawn.split_batch == pytest.approx(2 * drawn.split.crossing())
    assert "M_X = 2, M_Y = 1" in drawn.symbols
    assert drawn.title == "llama3-70b on tpu-v5p"
