"""Logs of tools as measurements: multiplications, nccl-tests, training runs, profiler traces.

One reader per tool, from text to rows; a new tool is one more module. `training_log` and `trace`
say what the readers of training logs and of traces return. Imports `planner.base` and
`evidence.csvfile`.
"""
