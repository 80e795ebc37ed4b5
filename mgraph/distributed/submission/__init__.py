"""Workflows that a cluster runs by itself: submitted, watched, cancelled, resumed."""
