"""ZeRO against data parallelism on a rack: the six figures of a report, for any workload.

`request` reads, `figures` computes, `readings` says which reading of the report's text agrees with
its claims. Imports `rack.model`. Begin with `figures`.
"""
