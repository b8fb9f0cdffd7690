"""Pure functions on the declaration: quotas, limits, names, findings, and the plan. Imports nothing of Pulumi, does no I/O."""
