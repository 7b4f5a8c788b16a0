"""One table of tones and hatches: what a part, an axis or a pass looks like in every chart.

The tone is the family (blue is arithmetic, orange what stays close by, purple the pipeline, green
data ranks, teal memory, brown what happens once per step, red the network, grey what waits), the
hatch tells the members apart: no two things share both, but for the names of one thing.
"""

from __future__ import annotations

from collections.abc import Mapping

Look = tuple[str, str]
"""Tone and hatch, of `chart.TONES` and `chart.HATCHES`."""
LOOKS: Mapping[str, Look] = {
    # time and energy
    "compute": ("blue", ""),
    "memory_bound": ("teal", ""),
    "tensor_parallel": ("orange", ""),
    "context_parallel": ("orange", "slant"),
    "expert_parallel": ("orange", "dots"),
    "pipeline_transfer": ("purple", ""),
    "data_parallel": ("green", ""),
    "sharded_data_parallel": ("green", "slant"),
    "bubble": ("grey", ""),
    "host": ("grey", "slant"),
    "optimizer": ("brown", ""),
    "offload": ("brown", "slant"),
    "static": ("grey", "backslant"),
    # memory
    "weights": ("blue", "slant"),
    "gradients": ("green", "backslant"),
    "activations": ("teal", "dots"),
    "logits": ("purple", "slant"),
    "buffers": ("orange", "backslant"),
    "constant": ("grey", "dots"),
    "reserve": ("grey", "cross"),
    # passes
    "backward": ("teal", "slant"),
    "weight_gradients": ("purple", "dots"),
    "recompute": ("blue", "cross"),
    "recompute_selective": ("teal", "backslant"),
    # comparisons and steps
    "step_time": ("blue", "backslant"),
    "energy": ("orange", "cross"),
    "longer": ("red", ""),
    "shorter": ("green", "cross"),
    "another_choice": ("blue", "dots"),
    "another_machine": ("purple", "cross"),
    "another_size": ("teal", "cross"),
}
SAME: Mapping[str, str] = {
    "tp": "tensor_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "etp": "expert_parallel",
    "pp": "pipeline_transfer",
    "dp": "data_parallel",
    "fsdp": "sharded_data_parallel",
    "memory": "memory_bound",
    "forward": "compute",
    "reduction": "data_parallel",
    "overhead": "host",
    "waiting": "bubble",
}
"""Other names of what `LOOKS` has."""
LEVELS: tuple[Look, ...] = (
    ("red", "slant"),
    ("red", "dots"),
    ("red", "cross"),
    ("red", "backslant"),
)
"""Levels of the network, innermost first; a fifth begins again."""


def look_of(name: str) -> Look:
    """Tone and hatch of a part, an axis or a pass.

    Raises:
        KeyError: It has none: it is a level, or unknown.
    """
    return LOOKS[SAME.get(name, name)]


def is_known(name: str) -> bool:
    """Whether `look_of` has a look for a name."""
    return SAME.get(name, name) in LOOKS


def level_look(at: int) -> Look:
    """Tone and hatch of a level of the network, counted from the innermost one."""
    return LEVELS[at % len(LEVELS)]
