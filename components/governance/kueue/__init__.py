"""The kueue backend: open-source Kueue, and its queues declared by us."""
