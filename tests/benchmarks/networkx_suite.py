"""All of NetworkX's own tests, with the backend on: minutes.

    python -m tests.benchmarks.networkx_suite

Prints what failed, and how many calls of each function this backend did and handed back.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import networkx

from tests.networkx_suite.test_networkx_suite import run_suite


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=["."], help="of NetworkX's folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        done = run_suite(Path(networkx.__file__).parent, options.files, counts, "-rfE")
        found = json.loads(counts.read_text())
    print("\n".join(done.stdout.splitlines()[-20:]))
    for name, (called, handed_back) in found.items():
        print(f"{name}: {called - handed_back} of {called} calls")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
