"""Logs of tools as measurements: matrix multiplications, nccl-tests and rccl-tests.

One reader per tool, from text to rows; a new tool is one more module. Imports `planner.base` and
`evidence.csvfile`.
"""
