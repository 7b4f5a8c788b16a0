"""Why no plan fits, by how much, and the smallest change that frees one; each remedy is checked.

One module per space of plans; remedies are those of `planner.search.infeasible`. Begin with
`uniform`.
"""
