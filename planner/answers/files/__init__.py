"""Results as `--json` prints them, read back: checked, and every plan evaluated again.

`result_file` reads, `checks` says which fields there are, `reevaluation` compares with the cost
model of today. A new part of a result needs its check here. Begin with `result_file`.
"""
