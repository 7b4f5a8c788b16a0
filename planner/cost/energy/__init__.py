"""Joules and watts: phases of a step, clocks, power caps, and the facility around the chips.

`energy` adds the phases up, `clock` has the law of clock, voltage and power, `silicon` what a
changed chip draws, `boundaries` the sums for chips, hosts and the facility. Begin with `energy`.
"""
