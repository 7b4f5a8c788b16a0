"""From a user's own measurements to a local calibration with shrinkage to the shipped one.

`asking` goes through the kinds of measurements, `posterior` estimates, `constants` says what may
move and how far, `writing` writes the file, `launches` has short launches of a plan. Begin with
`asking`.
"""
