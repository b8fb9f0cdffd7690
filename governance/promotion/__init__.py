"""What differs between two declarations, in words and numbers: two environments, or one before and after a change."""
