"""A check of certificates that shares no code with the search whose proofs they are.

It reads the question, lists the declared space in plain loops, computes every bound again and holds
each line of a certificate against that. Imports `question` and what lies below. Begin with
`checking`; `docs/model/certificate.md` says what is trusted.
"""
