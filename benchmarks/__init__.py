"""What a conversion, a call and an import cost, as ratios to a floor measured in the same run: `python -m benchmarks`."""
