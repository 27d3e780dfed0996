"""The one that knows the order: config, plan, engine, ledger, merge, metrics, gates, scorecard, publish.

Every step reads plan and ledger, returns a value, and is safe to repeat. Waiting is the drivers' business.
"""
