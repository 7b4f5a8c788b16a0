"""What NCCL runs and what it takes: rings, trees and direct exchanges, in each protocol.

`schedules` builds what a library runs, `lines` has seconds over bytes, `costs` holds the cost model
of training to measured systems. Imports `planner.network` and `collectives.machines`.
"""
