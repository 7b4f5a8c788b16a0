"""How much an answer leans on each number, and at which value another plan wins.

`numbers` lists the numbers with their sources, `rebuilding` makes a cost model with another value,
`elasticities` measures the change. Begin with `elasticities`.
"""
