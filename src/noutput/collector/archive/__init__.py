"""Archive of reports: what was counted, as partitioned Parquet; see `noutput.campaign.archive`."""
