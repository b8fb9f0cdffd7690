"""Policies on what a stack is about to make: pure rules on plain data, and the pack that Pulumi runs them from."""
