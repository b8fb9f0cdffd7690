"""Traces: what teams submit over time, read from files, from a live cluster, or drawn by a generator."""
