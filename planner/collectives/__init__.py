"""Collectives on named machines and graphs: bounds, synthesis, simulation, comparison, export.

`machines` makes the machine, `solvers.collectives` finds schedules on it, `runs` simulates them,
`nccl` says what a library takes, `tables` feeds the cost model. Imports `network` and what lies
below. Begin with `questions.fronts`, which answers `planner collective synthesize`.
"""
