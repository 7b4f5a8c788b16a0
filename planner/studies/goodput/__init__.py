"""Whole runs with failures, simulated: what the closed forms of `cost.goodput` are held against.

`simulation` runs many jobs at once, `gaps` draws the seconds between failures.
"""
