"""`hpctl`: a face over the packages, without logic of its own."""
