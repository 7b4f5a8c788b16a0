"""A log of the first steps of a run held against the prediction of its plan: `planner check`.

`comparing` decides what is inside of its interval, `causes` which part is likely off, `others`
which other plan would look like that, `identity` of which run the log is, `row` writes the run for
`planner calibrate`, `runs_file` adds it to a file. Imports `evidence.training_logs`,
`evidence.runs` and the constants of `evidence.calibration`. Begin with `comparing`.
"""
