"""Training frameworks: a plug-in each, with what it keeps, what it can run, how it is launched.

`framework` says what a plug-in is and how to add one, `registry` lists them; each has a folder
with its `profile`, `rules`, `write` and `read`. `rules`, `writing` and `reading` hold what all
share, `profiles` and `targets` find one by name. Imports `cost` and what lies below.
"""
