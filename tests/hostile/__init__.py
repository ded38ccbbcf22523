"""What servers, networks and callers do wrong, on every wire and in every mode: one table of cases and what must come of each."""
