"""Moves over the state of a partition, and the one loop that runs them."""
