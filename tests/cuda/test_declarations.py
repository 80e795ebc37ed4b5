"""The host reads a source's declarations as the compiler does."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.cuda.declarations import Declarations

SOURCE = """
#define BLOCK 4  // a macro
using u32 = unsigned; using u64 = unsigned long long;
using key_t = MGRAPH_KEY_T;
constexpr int lists = 2 * BLOCK, bytes = lists << 3;  // two at once
constexpr u64 most = (1ULL << 32) - 1;
constexpr bool wide = sizeof(key_t) == 8;  // not arithmetic
enum column {
  near_sum,  // what waits, near
  far_sum,
  counters, first = counters, columns = first + lists
};
struct entry_list {
  int* vertex;
  key_t* key;
};
struct memory {  // of a search
  entry_list near;
  u32 capacity;
  const u64* sums;
  note* notes;   /* of another struct */
  float shares[3];
  bool full;
  double low, high;
};
template <class T, unsigned K> struct heap {
  static constexpr unsigned root = 1, buffer = 0, spare = 2 + BLOCK;
  T* keys;
  unsigned size() const { return K; }
};
template <class T> class lists {
  static constexpr unsigned root = heap<T, 4>::root, slots = memory::spare << 1;
  static constexpr unsigned width = sizeof(T) * slots;  // not arithmetic of numbers
};
"""
DECLARED = Declarations(SOURCE, {"MGRAPH_KEY_T": "long long"})
SIZES = {
    "bool": 1, "char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned": 4, "long long": 8, "unsigned long long": 8, "size_t": 8, "float": 4, "double": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("BLOCK", 4), ("lists", 8), ("bytes", 64), ("most", (1 << 32) - 1), ("near_sum", 0),
     ("counters", 2), ("first", 2), ("columns", 10), ("buffer", 0), ("spare", 6), ("slots", 12)],
)  # fmt: skip
def test_constants_have_their_values(name, value):
    assert DECLARED.constant(name) == value


@pytest.mark.parametrize("name", ["wide", "missing", "u32", "root", "width"])
def test_unsupported_declarations_are_no_constants(name):
    with pytest.raises(KeyError):
        DECLARED.constant(name)


def test_a_struct_is_packed_from_numbers_arrays_and_structs():
    keys, sums = np.zeros(3, np.int64), np.zeros(2, np.uint64)
    struct = DECLARED.struct("memory")
    packed = struct.pack(
        {
            "near": {"vertex": None, "key": keys}, "capacity": np.uint32(7), "sums": sums,
            "notes": keys, "shares": (1.0, 2.0, 0.5), "full": True, "low": -1, "high": 2.5,
        }
    )  # fmt: skip
    value = packed.view(struct.dtype)[0]
    assert value["near"].tolist() == (0, keys.ctypes.data)
    assert (value["sums"], value["notes"]) == (sums.ctypes.data, keys.ctypes.data)
    assert value["shares"].tolist() == [1.0, 2.0, 0.5]
    assert (value["capacity"], value["full"], value["low"], value["high"]) == (7, True, -1, 2.5)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"vertex": None}, "key is missing from entry_list"),
        ({"vertex": None, "key": None, "more": 1}, "more is missing"),
        ({"vertex": None, "keys": None}, "key is missing from entry_list"),
        ({"vertex": np.zeros(1, np.int64), "key": None}, "vertex .* does not point to int64"),
        ({"vertex": None, "key": np.zeros(1)}, "key of entry_list does not point to float64"),
    ],
)
def test_values_that_do_not_fit_a_struct_are_refused(values, words):
    with pytest.raises(TypeError, match=words):
        DECLARED.struct("entry_list").pack(values)


def test_integers_of_either_sign_are_pointed_to():
    DECLARED.struct("entry_list").pack({"vertex": np.zeros(1, np.uint32), "key": 4096})


@st.composite
def structs(draw):
    """Declarations of structs, of which later ones contain earlier ones, and their names."""
    text, names = "", []
    for number in range(draw(st.integers(20, 40))):
        kinds = st.sampled_from([*SIZES, *names[-3:]])
        members = draw(st.lists(st.tuples(kinds, st.sampled_from(["", "*", "[3]"])), min_size=1))
        lines = []
        for i, (kind, form) in enumerate(members):
            array = form if form == "[3]" and kind in SIZES else ""
            lines.append(f"  {kind}{'*' * (form == '*')} member_{i}{array};")
        names.append(f"drawn_{number}")
        text += f"struct {names[-1]} {{\n" + "\n".join(lines) + "\n};\n"
    return text, names


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@settings(max_examples=3, deadline=None)
@given(structs())
def test_a_layout_is_the_compiler_s(tmp_path_factory, drawn):
    text, names = drawn
    folder, declared = tmp_path_factory.mktemp("layout"), Declarations(text, {})
    code, expected = "#include <cstddef>\n" + text, []
    for name in names:
        dtype = declared.struct(name).dtype
        expected += [dtype.itemsize, *(dtype.fields[member][1] for member in dtype.names)]
        values = [f"sizeof({name})", *(f"offsetof({name}, {member})" for member in dtype.names)]
        code += f'extern "C" size_t {name}_layout[] = {{{", ".join(values)}}};\n'
    (folder / "layout.cpp").write_text(code)
    command = ["g++", "-w", "-shared", "-fPIC", "-o", "layout.so", "layout.cpp"]
    subprocess.run(command, cwd=folder, check=True)
    library, found = ctypes.CDLL(str(folder / "layout.so")), []
    for name in names:
        count = 1 + len(declared.struct(name).members)
        found += (ctypes.c_size_t * count).in_dll(library, f"{name}_layout")
    assert found == expected
