"""Workloads on a sandbox: cases with expected verdicts, and what the real Kueue decides about them."""
