"""What remakes the tables and figures of the papers: timing, comparisons, plots."""
