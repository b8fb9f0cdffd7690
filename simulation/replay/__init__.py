"""Replaying traces on a sandbox's Kueue by events: the clock jumps from tick to tick, Kueue decides."""
