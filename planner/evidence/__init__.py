"""How far predictions are from measurements, and constants fitted to measurements.

`validation` scores the cost model on published runs, `calibration` fits a user's own, `runs` and
`power` hold what both read. Imports `planner.question` and what lies below; nothing changes the
cost model. Begin with `validation.answer`.
"""
