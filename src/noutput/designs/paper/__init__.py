"""Designs of the paper: its closed form, and its nonlinear program."""
