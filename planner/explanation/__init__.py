"""Why a plan costs what it costs: what binds it, its neighbours, what it leans on, comparisons.

Every claim is a real evaluation of the cost model; nothing is estimated here. `steps` changes
plans, `sensitivity` changes numbers, `comparison` sets plans beside each other. Imports `search`
and what lies below. Begin with `explaining`.
"""
