"""Jobs of a team as manifests: what is asked for is held against the plan first."""
