"""The search over pools of different chips: how many stages each has, and what each stage holds.

`rows` enumerates what stages share, `bounds` drops rows, `columns` makes the stage problem that
`solvers.stages` solves, `pools` proves the best. Begin with `pools`.
"""
