"""A program whose workers cannot start says why in its last line; one without a file works."""

import os
import subprocess
import sys

import pytest

CONNECT = """mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0")"""
ASK = "from mgraph.distributed.clusters.main_module import unguarded_start as why\n"
SENTENCE = 'put the work under if __name__ == "__main__":'


def run(line, text=None, cwd=None):
    return subprocess.run(line, input=text, cwd=cwd, capture_output=True, text=True, check=False)


WITHOUT = {
    "plain": "print(why(True))",
    "in a function": "def work():\n    print(why(True))\n\nwork()",
    "in a method": "class A:\n    def __init__(self):\n        print(why(True))\nA()",
    "in a loop": "for _ in range(1):\n    with open(__file__):\n        print(why(True))",
    "in a thread": "import threading\nt = threading.Thread(target=lambda: print(why(True)))\n"
    "t.start()\nt.join()",
    "over lines": "print(\n    why(\n        True\n    )\n)",
    "in bytes": "# -*- coding: latin-1 -*-\ns = 'é'\nprint(why(True))",
}
WITH = {
    "guarded": 'if __name__ == "__main__":\n    print(why({}))',
    "turned round": 'if "__main__" == __name__:\n    print(why({}))',
    "a function": 'def work():\n    print(why({}))\n\nif __name__ == "__main__":\n    work()',
    "by process": "import multiprocessing as m\nif m.parent_process() is None:\n    print(why({}))",
}
MAYBE = {
    "a condition": "import sys\nif len(sys.argv) < 9:\n    print(why({}))",
    "an attempt": "try:\n    print(why({}))\nexcept RuntimeError:\n    pass",
    "left early": 'import sys\nif __name__ != "__main__":\n    sys.exit()\nprint(why({}))',
    "elsewhere": 'print(why({}))\nif __name__ == "__main__":\n    pass',
}


@pytest.mark.parametrize("as_module", [False, True])
@pytest.mark.parametrize(
    ("text", "certain", "is_explained"),
    [
        *((text, True, True) for text in WITHOUT.values()),
        *((text, certain, False) for text in WITH.values() for certain in (True, False)),
        *((text, certain, not certain) for text in MAYBE.values() for certain in (True, False)),
    ],
)
def test_a_start_that_workers_would_repeat_is_recognized(
    tmp_path, text, certain, is_explained, as_module
):
    script = tmp_path / "my script.py" if not as_module else tmp_path / "script.py"
    script.write_bytes((ASK + text.replace("{}", str(certain))).encode("latin-1"))
    if "coding" in text:  # which counts in the first two lines alone
        script.write_bytes((text.replace("s =", ASK + "s =")).encode("latin-1"))
    found = run([sys.executable, *(["-m", "script"] if as_module else [script])], cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    if is_explained:
        assert found.stdout.startswith(f"{script.name} starts a cluster in line ")
        assert found.stdout.rstrip().endswith(SENTENCE)
    else:
        assert found.stdout == "None\n"


@pytest.mark.parametrize("line", [["-c", ASK + "print(why(True))"], ["-"], []])
def test_a_program_without_a_file_is_not_run_again(line):
    assert run([sys.executable, *line], ASK + "print(why(True))").stdout == "None\n"


USES = f"import mgraph\nwith {CONNECT} as c:\n    print(c.client.submit(lambda: 5).result())\n"


@pytest.mark.parametrize("line", [["-"], [], ["/dev/stdin"]])
def test_a_program_from_standard_input_has_workers(line):
    found = run([sys.executable, *line], USES)
    assert (found.returncode, found.stdout) == (0, "5\n"), found.stderr


def test_a_program_whose_file_was_removed_has_workers(tmp_path):
    script = tmp_path / "s.py"
    script.write_text(f"import os\nos.unlink(__file__)\n{USES}print(os.path.basename(__file__))")
    found = run([sys.executable, script])
    assert (found.returncode, found.stdout) == (0, "5\ns.py\n"), found.stderr


def test_little_work_needs_no_guard(tmp_path):
    script = tmp_path / "s.py"
    model = "mgraph.CopyModel(99, 2)"
    script.write_text(f'import mgraph\nmgraph.generate("g", {model}, progress=None)\n')
    found = run([sys.executable, script], cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "g" / "_manifest.json").exists()


@pytest.mark.parametrize(
    "work",
    [
        f"with {CONNECT}: pass",
        'mgraph.generate("g", mgraph.CopyModel(1_000_000, 8), progress=None)',
        f"import sys\nif len(sys.argv) < 9:\n    with {CONNECT}: pass",
    ],
)
def test_the_last_line_explains_a_missing_guard(tmp_path, work):
    script = tmp_path / "s.py"
    script.write_text(f"import mgraph\n{work}\n")
    found = run([sys.executable, script], cwd=tmp_path)
    assert found.returncode == 1
    last = found.stderr.splitlines()[-1]
    assert last.startswith("mgraph.errors.ClusterError: s.py starts a cluster in line ")
    assert last.endswith(SENTENCE)
    assert os.listdir(tmp_path) == ["s.py"]


def test_the_last_line_says_that_workers_did_not_start(tmp_path):
    script = tmp_path / "s.py"
    guard = 'if __name__ != "__main__":\n    raise SystemExit(3)\n'
    script.write_text(
        f'{guard}import mgraph\nif __name__ == "__main__":\n    {CONNECT}.__enter__()'
    )
    found = run([sys.executable, script])
    assert found.returncode == 1
    last = found.stderr.splitlines()[-1]
    assert last.startswith(
        "mgraph.errors.ClusterError: no workers could be started on this machine"
    )
    assert "min()" not in last
