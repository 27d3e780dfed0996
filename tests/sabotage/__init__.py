"""Deliberate breaks of the rules of gates, each of which must turn a test red."""
