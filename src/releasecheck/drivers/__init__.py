"""The edge: each driver waits, watches the clock and talks to its surroundings in its own way."""
