"""Shell text filled in without running it.

`words` takes it apart, `blocks` finds what lists, `if`, `case`, loops and functions hold, `values`
fills in variables, `conditions` says which tests hold, `loops` how often something is repeated,
`maybe` joins what parts leave that may be run or not, `states` keeps what they leave as it was,
`steps` says what each part does, and `run` goes through. Begin with `run`.

No library does it: most of this is an evaluator for which "not known" is a value. Of parsers,
bashlex 0.18 is GPL and fails on 15 of the 32 scripts of `benchmarks/launches/corpus.yaml`;
tree-sitter-bash 0.25 reads all, in place of `words` and `blocks`, but takes compiled packages, and
what people paste is often no shell: arguments alone, layouts and <placeholders> without quotes.
"""
