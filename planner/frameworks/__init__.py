"""Training frameworks: a folder each, with what it can run, how a plan is written, what is read.

In a folder, `rules` says which plans the framework runs, `write` makes its files, `read` takes a
launch back. `rules`, `writing` and `reading` hold what all share, `profiles` what each keeps in
memory and sends, `targets` the list of them. Imports `machine` and what lies below.
"""
