"""Slack intervals: what every distribution that fits the reports says about a statistic."""
