"""Measured power against the model: meters, clocks, power caps, published sweeps.

`energy` gathers all of it, `meters` says which figures are measurements at all. Imports
`planner.cost` and `evidence.runs`. Begin with `energy`.
"""
