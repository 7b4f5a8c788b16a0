"""One step away: plans and machines that differ in one choice, and what they would cost.

`steps` and `stages` change a plan, `machine` changes the machine, `neighbors` evaluates. Begin with
`neighbors`.
"""
