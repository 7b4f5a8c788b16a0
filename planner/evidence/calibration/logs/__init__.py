"""Logs of tools as measurements: multiplications, nccl-tests, profiler traces.

One reader per tool, from text to rows; a new tool is one more module. `trace` says what the readers
of traces return. Imports `planner.base` and `evidence.csvfile`. Logs of training runs are in
`evidence.training_logs`.
"""
