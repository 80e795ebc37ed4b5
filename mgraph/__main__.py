"""The command line as ``python -m mgraph``."""

import sys

from mgraph.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
