"""``mgraph doctor``: what may be wrong with this machine or a cluster, and what to do."""
