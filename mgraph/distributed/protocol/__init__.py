"""What every part of ``mgraph.distributed`` shares: addresses, settings, errors, progress."""
