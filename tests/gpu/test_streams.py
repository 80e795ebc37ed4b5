"""Two streams on a GPU: a kernel whose blocks wait for each other waits for no other kernel."""

import subprocess
import sys

import pytest

from tests.gpu.two_streams import PAIRS

pytestmark = pytest.mark.gpu


@pytest.mark.timeout(900)
def test_two_streams_wait_for_no_other_and_answer_as_one():
    """In a process of its own: a kernel that never ends cannot be ended otherwise."""
    command = [sys.executable, "-m", "tests.gpu.two_streams"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" ok\n") == len(PAIRS)
