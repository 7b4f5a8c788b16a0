"""The stage problem of a row: what each stage may hold, as columns of whole numbers.

`stage_choices` lists what one stage may hold, `columns` makes whole numbers of their costs,
`selection` drops those that no better plan holds. `solvers.stages` chooses among them. Begin with
`columns`.
"""
