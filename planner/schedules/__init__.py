"""Pipeline schedules: which operation a stage runs after which, and when it starts and ends.

There is one file per schedule where it has rules of its own; `orders` gives the order of operations
of each schedule, `simulate` runs any of them. Imports `plan`, `assumptions` and `base`: durations
are given, never computed here. Begin with `orders`.
"""
