"""Read-only readers of running systems."""
