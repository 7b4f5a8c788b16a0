"""Lower bounds of rows of an uneven search: on step time, joules, memory and mean power.

A bound never exceeds the cost of any plan of its row; tests compare each with brute force. A new
term of the cost model needs its bound here. Begin with `time`, which defines LB0, LB1 and LB2.
"""
