"""Tables of synthesized collectives for the cost model: read from the package, or made here.

`tables` finds the table of a domain of chips, `making` solves for a new one. The tables that are
shipped are made by `benchmarks/collective_tables.py`. Begin with `tables`.
"""
