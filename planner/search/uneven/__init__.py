"""The search over uneven pipelines: layers, recomputation, sharding and clock of every stage.

`rows` enumerates what stages share, `bounds` and `columns` turn a row into a stage problem, and
`certificate` and `front` prove the best over all rows. Imports `planner.cost`, `solvers.stages` and
what searches share. Begin with `certificate`.
"""
