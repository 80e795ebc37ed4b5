"""Clusters: connecting to one, starting one for a command or in the background, certificates."""
