"""One process on one machine: plan, shards and finish, with progress and signals."""
