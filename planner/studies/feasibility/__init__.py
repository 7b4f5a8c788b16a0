"""Which batches, chip counts and degrees stay compute-bound and fit, per strategy, and what binds.

Under `roofline` by the exact algebra of a textbook (`textbook`), under the fitted model by the
ordinary cost model at the batches that the answer needs (`sweep`). Begin with `asking`.
"""
