"""The machine code of kernels, compiled by several threads of a process that has just begun."""

import subprocess
import sys

import pytest

from mgraph.cuda import machine_code

pytestmark = pytest.mark.skipif(
    not machine_code.can_compile(), reason="needs NVRTC: pip install mgraph[check]"
)

_THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor
from mgraph.core.primitives_gpu import KERNELS
from mgraph.cuda import machine_code

start = threading.Barrier(6)

def compile_one(number):
    start.wait()
    if number % 2:
        machine_code.can_compile("90")
    code = machine_code.compile_source(KERNELS, {"MGRAPH_ELEMENT_T": "int"}, "sm_90", quick=True)
    return code[:4] == b"\\x7fELF"

with ThreadPoolExecutor(6) as pool:
    assert all(pool.map(compile_one, range(6)))
"""


def test_the_first_threads_of_a_process_compile_at_the_same_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _THREADS], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
