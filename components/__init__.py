"""Pulumi components: they declare exactly the plan, and compute nothing."""
