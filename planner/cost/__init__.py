"""The cost model: pure functions from arrays of plans to time, memory and energy.

Each equation names its source and is written once; the search calls the same functions as direct
evaluation, to the last bit. Change a term here with its lower bound in `planner.search`. Imports
`network` and what lies below. Begin with `evaluate`, then `pieces`, `terms` and
`step`.
"""
