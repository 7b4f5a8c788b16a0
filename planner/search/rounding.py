"""What rounding may do: the sums of a bound, or of two plans, are in another order."""

from __future__ import annotations

ROUNDED_DOWN = 1.0 - 1e-12
"""Times a bound: at most the cost that it bounds, rounding included."""
SAME = 1e-9
"""Costs of plans that differ by less, relatively, count as equal."""
