"""Pages that stand alone: reports of a platform and of a simulation, one HTML file each."""
