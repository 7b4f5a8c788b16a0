"""What questions say of a run as a whole: phases, prices, and what of its machine is down.

`phases`, the published `prices` that it takes, and the `outage` of nodes or chips.
"""
