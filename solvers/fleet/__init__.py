"""Jobs that share clusters: which choice each job takes, and when; arrays in, a proof out.

`problem` is what is asked and what is answered, `solving` answers it: first `pricing` (bounds by
prices of capacity, and schedules that follow them), then `recreating`, then
`cpsat` through a `program`. `enumeration` is the oracle of
tests, `changes` says what would make an impossible fleet possible.
"""
