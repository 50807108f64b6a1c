"""Estimates from tallies: what the collector learns about everybody, and how sure it is."""
