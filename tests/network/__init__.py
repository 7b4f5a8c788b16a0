"""Tests of placement and collectives against enumeration."""
