"""A log of the first steps of a run held against the prediction of its plan: `planner check`.

`comparing` decides what is inside of its interval, `causes` which part is likely off, `others`
which other plan would look like that, `row` writes the run for `planner calibrate`. Imports
`evidence.training_logs`, `evidence.runs` and the constants of `evidence.calibration`. Begin with
`comparing`.
"""
