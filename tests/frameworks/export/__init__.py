"""Exports of plans: golden files, rules, and the frameworks' own parsers where installed."""
