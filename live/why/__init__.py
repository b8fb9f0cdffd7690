"""Why a workload waits, runs, was preempted or ended: read from a cluster with Kueue, and reasoned out; nothing is written."""
