"""The search over uniform plans, whose stages all choose alike: exact front of time and energy.

`meshes` and `space` enumerate, `nodes` and `bounds` order and drop, `tables` and `candidates` cost,
`engine` opens nodes. Imports `planner.cost` and `solvers.mesh`. Begin with `engine`.
"""
