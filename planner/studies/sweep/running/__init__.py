"""How points are solved: a window of batches on the workers of a Dask scheduler.

`run` is one run of a study, `engine` its loop; `workers` says where points are solved, `watchdog`
that a run never waits for ever. Dask is imported here alone. Begin with `run`.
"""
