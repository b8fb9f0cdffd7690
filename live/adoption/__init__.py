"""Adopting what runs: reading it, declaring it, comparing the two, and Pulumi's import file."""
