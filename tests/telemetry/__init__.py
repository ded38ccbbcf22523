"""Event hooks, spans, metrics and logs of calls."""
