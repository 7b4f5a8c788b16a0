"""Levels for the operations of a graph: least cost within a limit on the longest path.

`program` has the exact programs and their bounds, `rounding` whole levels made from them quickly.
`shortest` finds schedules under a cap on power at every moment, with the bound of `power_bound`.
"""
