"""Everything that touches Dask: connect, cut into parts, submit, reduce.

The algorithms know nothing of it: tasks here call them with a part and return small records. No
module imports Dask before it needs it, so that the command line starts at once.
"""
