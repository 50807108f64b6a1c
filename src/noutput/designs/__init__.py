"""Designs: which table is best for a privacy budget, a number of outputs and an objective."""
