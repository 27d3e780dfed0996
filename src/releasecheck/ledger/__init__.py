"""Append and read records: the only truth about a run. One module per store."""
