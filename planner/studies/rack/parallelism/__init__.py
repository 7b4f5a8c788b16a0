"""Data, tensor and pipeline parallelism on a rack: the figures of a report, and what it leaves out.

`figures` answers, `beyond` adds one omission at a time. Imports `rack.model`. Begin with `asking`.
"""
