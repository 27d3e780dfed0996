"""What targets and judges share: one HTTP client, processes, the Python worker, one failure classifier."""
