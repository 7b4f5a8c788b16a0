"""What to expect on runs that no constant rests on: sources left out of the fit, one at a time.

`sources` predicts each source with constants fitted without it and scores them by kind of run;
`interval_fit` makes the intervals of predictions, and `coverage` says how often they hold.
Imports `evidence.validation.predicting` and `scores`. Begin with `sources`.
"""
