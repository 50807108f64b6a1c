"""Mechanisms: what turns a number of [-1, 1] into a private report."""
