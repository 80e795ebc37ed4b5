"""Random graph generators: one parameter set (``copy_model``), one stem a method."""
