"""Issuer of anonymous tokens (Privacy Pass, RFC 9578): it signs what it cannot see."""
