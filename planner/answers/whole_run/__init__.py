"""What a whole run is beside its days: the sizes that it can shrink to, and rates that change it.

Begin with `sizes`.
"""
