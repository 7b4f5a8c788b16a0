"""What is asked about a run as a whole: its phases, and what to do when nodes are down.

`phases` solves each phase and sums them up, `outage` weighs going on against waiting; begin there.
"""
