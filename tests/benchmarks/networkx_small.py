"""How much longer NetworkX's own small tests take where mgraph is preferred.

    python -m tests.benchmarks.networkx_small [--repeats 5]

The tests of the modules concerned, in a process of their own each time, in turns: NetworkX alone,
with mgraph preferred, and with a backend preferred that refuses all calls. The sums of the tests'
own seconds, medians.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import networkx

from tests.networkx_suite.test_networkx_suite import FILES, ROOT


def seconds(files, priority, *options):
    """The sum of the seconds of all tests."""
    folder = Path(networkx.__file__).parent
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
        "--rootdir", folder, "-p", "tests.networkx_backend.duration_plugin", *options,
        *(folder / file for file in files),
    ]  # fmt: skip
    environment = os.environ | {"NETWORKX_BACKEND_PRIORITY": priority, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(re.search(r"all tests: ([\d.]+) s", done.stdout)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("files", nargs="*", default=FILES, help="of NetworkX's folder")
    parsed = parser.parse_args()
    runs = {"NetworkX": [""], "mgraph": ["mgraph"], "refusing": ["mgraph", "--refuse"]}
    times = {name: [] for name in runs}
    for _ in range(parsed.repeats):
        for name, options in runs.items():
            times[name].append(seconds(parsed.files, *options))
    own = statistics.median(times["NetworkX"])
    for name, each in times.items():
        median = statistics.median(each)
        listed = ", ".join(f"{time:.3f}" for time in sorted(each))
        print(f"{name}: {median:.3f} s, {median / own:.3f} times NetworkX ({listed})")


if __name__ == "__main__":
    main()
