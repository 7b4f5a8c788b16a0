"""The optimizer that arguments of Megatron-LM name, by the formats of its moments.

Source: core/optimizer/optimizer_config.py, core/optimizer/__init__.py and training/arguments.py
(`map_dtype`), core 0.16.1 and d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

from planner.assumptions.optimizers import ADAM
from planner.base.messages import shown
from planner.frameworks.megatron.words import MOMENTS, MUON
from planner.frameworks.reading.settings import LaunchSettings

LAYER_WISE = "dist_muon"
"""Muon whose state is shared out over the data ranks by whole layers."""
_AWARE = "--use-precision-aware-optimizer"
_COUNTED = {ADAM: ADAM, "lion": "lion", MUON: MUON, LAYER_WISE: MUON}
_ALLOWED = (ADAM, "sgd", MUON, LAYER_WISE, "lion", "soap", "adaptive_muon")
_FORMATS = {kept: name for name, kept in MOMENTS.items()} | {"fp32": ADAM}


def optimizer_of(launch: LaunchSettings) -> str:
    """A key of `planner.assumptions.optimizers.OPTIMIZERS`; Adam for what is none of them, noted.

    On the host the moments of Adam have 32 bits whatever their formats.
    """
    given = launch.choice("--optimizer", ADAM, {name: name for name in _ALLOWED})
    if given not in _COUNTED:
        what = f"{shown(given)} has other states than {ADAM}, which the prediction counts"
        launch.warnings.append(f"--optimizer: {what}")
    name = _COUNTED.get(given, ADAM)
    moved = "--optimizer-cpu-offload" in launch.values
    if name != ADAM or not launch.on(_AWARE) or moved:
        return name
    if launch.text("--main-params-dtype", "fp32") != "fp32":
        launch.warnings.append("--main-params-dtype: the prediction counts 32 bits")
    return _by_formats(launch)


def _by_formats(launch: LaunchSettings) -> str:
    """Adam by the formats of its moments, where both have one that is counted."""
    kept = [launch.text(f"--exp-avg{end}-dtype", "fp32") for end in ("", "-sq")]
    if kept[0] == kept[1] and kept[0] in _FORMATS:
        return _FORMATS[kept[0]]
    launch.warnings.append(
        f"--exp-avg-dtype: moments in {' and '.join(kept)}; the prediction counts 32 bits"
    )
    return ADAM
