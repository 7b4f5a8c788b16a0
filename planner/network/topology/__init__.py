"""How chips are wired: graphs, average hops, bisection, links, and the load that traffic puts.

There is one file per property of a wiring, and one per way to state one: `kinds` lists the
topologies by name, `graphs` builds them, `forms` and `hops` have closed forms, `custom` reads a
user's own. Imports `planner.base`. A new topology begins in `kinds`.
"""
