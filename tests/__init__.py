"""The tests: sentences about behaviour. Helpers are imported from here by their full name."""
