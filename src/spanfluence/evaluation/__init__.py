"""Evaluations: what an explanation method is worth, one measure a file, with baselines and intervals."""
