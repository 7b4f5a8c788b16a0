"""Which layers sit on which pipeline stage, and what differs between stages.

`layout` groups equal stages into classes, `explicit` reads stages that a plan lists,
`recomputation` counts layers by what is computed again, `rounds` has what chunks of unequal length
cost under interleaving. Begin with `layout`.
"""
