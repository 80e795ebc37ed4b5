"""No file that mgraph reads can run code: nothing here unpickles, evaluates or loads objects."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
FILES = sorted([*ROOT.glob("mgraph/**/*.py"), *ROOT.glob("workflows/*.py")])
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal", "joblib"}
CALLS = {
    "eval", "exec", "read_pickle", "to_pickle", "unsafe_load", "full_load", "load_all",
    "read_gpickle", "fromregex", "literal_eval", "import_string",
}  # fmt: skip
# `load` reads objects in NumPy, PyYAML, torch and joblib; json's does not.
LOADERS = {"load", "loads"}
# What is looked at, and why it may: file, name.
ALLOWED = {
    # Sends a function to the workers, as Dask does with every task; reads nothing.
    ("mgraph/distributed/doctor/check.py", "cloudpickle"),
    ("mgraph/cli/main.py", "exec"),  # of an empty text
    ("mgraph/core/c_functions.py", "builder.load"),  # an instruction of LLVM
}


def uses(tree):
    """What a module imports or calls that could make code of bytes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.module
        elif isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "id", getattr(called, "attr", ""))
            owner = getattr(getattr(called, "value", None), "id", "")
            if name in CALLS or (name in LOADERS and owner not in ("json", "self")):
                yield f"{owner}.{name}" if owner else name
            for option in node.keywords:
                if option.arg == "allow_pickle" and getattr(option.value, "value", 1) is not False:
                    yield "allow_pickle"


def found_in(text):
    return sorted(set(uses(ast.parse(text))))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_is_unpickled_or_evaluated(file):
    where = file.relative_to(ROOT).as_posix()
    assert [name for name in found_in(file.read_text()) if (where, name) not in ALLOWED] == []


def test_what_is_allowed_is_still_used():
    for where, name in ALLOWED:
        assert name in found_in((ROOT / where).read_text())


@pytest.mark.parametrize(
    "text",
    [
        "import pickle", "from cloudpickle import loads", "import joblib.numpy_pickle",
        "np.load(f)", "numpy.load(f, allow_pickle=True)", "yaml.load(f, Loader=L)",
        "pd.read_pickle(f)", "eval(x)", "exec(x)", "torch.load(f)", "loads(x)",
        "np.savez(f, a, allow_pickle=True)", "yaml.unsafe_load(f)", "f(allow_pickle=option)",
    ],
)  # fmt: skip
def test_it_would_be_seen(text):
    assert found_in(text)
