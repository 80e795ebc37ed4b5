"""What all packages of ``mgraph.distributed`` share: addresses, settings, errors, progress."""
