"""What replays mean: figures by team and overall, their spread over runs, and comparisons."""
