"""Tests of the cost model against an independent scalar implementation."""
