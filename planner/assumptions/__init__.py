"""Every constant and simplification of the cost model, as data, and the files that replace them.

Change a default here, with its source beside it; an equation belongs to `planner.cost`. Imports
`planner.base` and `hardware_db`. Begin with `assumptions`: the record that the cost model reads,
and its presets.
"""
