"""A virtual clock and seeded chance explore what can happen to a run, and in which order."""
