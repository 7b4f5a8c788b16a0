r"""Nodes are down: a job goes on on the chips that are left, or waits until they are repaired.

Waiting, it does nothing for the repair V, then restarts in R. Going on, it stands still for I until
a plan for the chips left works, does r tokens a second until the repair, and then stops for B to
come back to its own plan, whose rate is r_0. At any time t after both are back it has done

    r_0 (t - V - R)    or    r max(V - I, 0) + r_0 (t - V - B),

so that going on gains r max(V - I, 0) - r_0 (B - R) tokens. That is 0 at V = I + (B - R) r_0 / r,
beyond which each second of repair gains r.

I is the restart where the checkpoint loads as it is; where it has to be brought into another form
the store gives it out and takes it in before. B is a last checkpoint, the same to come back, and
the restart.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Detour:
    """A plan for the chips that are left; each a number or (n,).

    Attributes:
        rate: r: tokens per second.
        own_rate: r_0: tokens per second of the job on all its chips.
        in_s: I: until the plan works.
        back_s: B: until the job's own plan works again, once the nodes are back.
        restart_s: R: the same after waiting.
    """

    rate: FloatArray | float
    own_rate: FloatArray | float
    in_s: FloatArray | float
    back_s: FloatArray | float
    restart_s: FloatArray | float

    def gained_s(self, repair_s: FloatArray | float) -> FloatArray:
        """(n,) seconds of the whole job's work that going on gains against waiting."""
        worked = np.maximum(np.subtract(repair_s, self.in_s), 0.0)
        share = np.divide(self.rate, self.own_rate)
        return np.asarray(share * worked - np.subtract(self.back_s, self.restart_s))

    @property
    def break_even_s(self) -> FloatArray:
        """(n,) repair above which going on gains; at least `in_s`."""
        share = np.divide(self.rate, self.own_rate)
        later = np.maximum(np.subtract(self.back_s, self.restart_s), 0.0)
        return np.asarray(self.in_s + later / share)
