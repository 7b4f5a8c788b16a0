"""What is answered about a run as a whole: its days, its phases, and nodes that are down.

`training` has the days, energy and money of one plan's run: begin there. `phases` solves each phase
and sums them up, `outage` weighs going on against waiting; `sizes` and `thresholds` have what a job
shrinks to and the failure rates that change a choice.
"""
