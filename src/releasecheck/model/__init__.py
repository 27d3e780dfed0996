"""Frozen types that cross a process: cases, plans, records, scores, gates, scorecards, manifests."""
