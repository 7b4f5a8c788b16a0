"""Why a plan costs what it costs: what binds it, its neighbours, what it leans on, comparisons."""
