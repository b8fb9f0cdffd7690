"""Nodes of a cluster as Kueue's topology-aware scheduling sees them: network blocks, what fits in one, where jobs stand."""
