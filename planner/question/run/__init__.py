"""What questions say of a run as a whole: phases, prices, upkeep, and what of its machine is down.

`upkeep` checks the fields of failures and checkpoints, `running` gives what the cost model needs of
them; `phases`, the published `prices` and the `outage` of nodes are fields of their own.
"""
