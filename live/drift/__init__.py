"""Drift: what a stack declares, what Pulumi last deployed, and what is there."""
