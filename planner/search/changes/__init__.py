"""Whether what a question changes can change its answer: found out on plans, and said why not.

Begin with `effects`.
"""
