"""What compiling costs: processor seconds of whole commands with nothing compiled, and warm.

    python -m tests.benchmarks.cold_start [VERB …] [--rounds 5]

The graph has 100,000 vertices and 8·10^5 weighted edges. A round runs each command with an empty
cache of machine code, and again; the least difference counts. The figures are in
mgraph/core/BENCHMARKS.md.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TERMINALS = "3,14,159,2653"
COMMANDS = {
    "sssp": ["sssp", "g", "--source", "0"],
    "msf": ["msf", "g"],
    "steiner": ["steiner", "g", "--terminals", TERMINALS],
    "improve": ["steiner", "g", "--terminals", TERMINALS, "--improve"],
}
BARS = {"sssp": 2, "msf": 2, "steiner": 6, "improve": 9}  # seconds, cold less warm


def processor_seconds(arguments, folder, cache):
    """Run a command of mgraph's that starts no workers; return its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "mgraph", *arguments, "--backend", "cpu", "-q"],
        cwd=folder, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(verb, folder, rounds):
    """Return cold and warm seconds of the round with the least difference."""
    cache, pairs = folder / "cache", []
    for _ in range(rounds):
        shutil.rmtree(cache, ignore_errors=True)
        pairs.append([processor_seconds(COMMANDS[verb], folder, cache) for _ in range(2)])
    return min(pairs, key=lambda pair: pair[0] - pair[1])


def main():
    """Run and print; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verbs", nargs="*", default=list(COMMANDS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tiny", action="store_true", help="for the tests: a small graph, no bars")
    given = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mgraph-cold-") as name:
        folder = Path(name)
        n = "1_000" if given.tiny else "100_000"
        maker = ["generate", "g", "-n", n, "-d", "8", "--weights", "1:100"]
        processor_seconds(maker, folder, folder / "of the maker")
        print("| command | cold, s | warm, s | difference | bar |\n|---|---|---|---|---|")
        for verb in given.verbs:
            cold, warm = measure(verb, folder, given.rounds)
            bar = BARS.get(verb)
            missed += bar is not None and cold - warm > bar
            print(f"| {verb} | {cold:.1f} | {warm:.1f} | {cold - warm:.1f} | {bar or ''} |")
    return int(missed > 0 and not given.tiny)


if __name__ == "__main__":
    sys.exit(main())
