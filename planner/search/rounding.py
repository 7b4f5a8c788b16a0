"""What rounding may add to a lower bound, whose sums are in another order than those of a plan."""

from __future__ import annotations

ROUNDED_DOWN = 1.0 - 1e-12
"""Times a bound: at most the cost that it bounds, rounding included."""
