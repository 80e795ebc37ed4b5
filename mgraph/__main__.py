"""The command line as ``python -m mgraph``."""

from mgraph.cli.main import run_and_exit

if __name__ == "__main__":
    run_and_exit()
