"""Typed configuration: environments, teams, and the catalogue of instance types. Imports nothing of Pulumi."""
