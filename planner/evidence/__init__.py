"""How far predictions are from measurements, and constants fitted to measurements.

`validation` scores the cost model on published runs, `calibration` fits a user's own, `checked`
holds one log against the prediction of its plan; `runs`, `power` and `training_logs` have what they
read. Imports `planner.results` and what lies below; nothing changes the cost model. Begin with
`validation.answer`.
"""
