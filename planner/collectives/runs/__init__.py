"""Schedules run on a machine, event by event: times over sizes, and what slow links cost.

`program` makes a schedule ready, `simulate` runs it, `times` and `ranges` compare over sizes.
Imports `collectives.machines` and `solvers.collectives`. Begin with `simulate`.
"""
