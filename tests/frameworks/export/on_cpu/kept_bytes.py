"""Run beside an exported train.py: the bytes that a parameter takes after a step.

Prints "kept" and those of its weight, its gradient and its moments.
"""

from typing import Any

import torch
import train


class Watched(torch.optim.AdamW):
    """AdamW that prints what it and its parameters keep."""

    def step(self, closure: Any = None) -> Any:
        done = super().step(closure)
        for parameter in self.param_groups[0]["params"][:1]:
            moments = [one for one in self.state[parameter].values() if one.ndim == parameter.ndim]
            sizes = [parameter.element_size(), parameter.grad.element_size()]
            print("kept", *sizes, sum(one.element_size() for one in moments), flush=True)
        return done


torch.optim.AdamW = Watched  # type: ignore[misc]
train.STEPS = 1
train.main()
