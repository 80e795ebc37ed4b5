"""What a CUDA source declares, for the host: constants, enumerations, and structs of arguments.

A kernel that needs more than a handful of arguments takes structs, by value. The source is the only
place where a struct's fields, a constant or an enumeration stands; the host reads them from there,
so that the two cannot differ. Understood is what such declarations need:

    using key_t = MGRAPH_KEY_T;               // a type's other name
    constexpr int rows = 2 * lists + 1;       // arithmetic of whole numbers, known names, macros
    enum column { near_sum, far_sum, columns = 30 };
    static constexpr int spare = 2 + table::slots;  // of a struct, too
    struct search_memory {                    // members: numbers, pointers, arrays, other structs
      entry_list near;
      u32 capacity;
      u64* sums;
    };

What does not read like this is left out, and asking for it is an error.
"""

import ast
import operator
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

_SCALARS = {
    "bool": "?", "char": "i1", "signed char": "i1", "unsigned char": "u1",
    "short": "i2", "unsigned short": "u2", "int": "i4", "unsigned": "u4", "unsigned int": "u4",
    "long long": "i8", "unsigned long long": "u8", "size_t": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
_LETTERS = {"l": "q", "L": "Q"}  # NumPy's of 8 bytes, in struct's alphabet
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"^#define (\w+) (.+)$", re.MULTILINE)
_USING = re.compile(r"\busing (\w+) = ([\w ]+);")
_CONSTEXPR = re.compile(r"\bconstexpr [\w ]*?(\w+ = [^;{}]+);")
_ENUM = re.compile(r"\benum (?:class )?\w*\s*(?:: [\w ]+)?\{([^}]*)\}")
_STRUCT = re.compile(r"\bstruct (?:alignas\(\d+\) )?(\w+) \{([^{}()]*)\};")
_MEMBER = re.compile(r"(const )?([\w ]+?)\s*(\* ?(?:const )?)?(\w+)(?:\[(\w+)\])?$")
_QUALIFIER = re.compile(r"\b\w+::")  # of a name; the names of all structs are known as one set
_SUFFIX = re.compile(r"\b(0x[0-9A-Fa-f]+|\d+)[uUlL]+\b")
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.USub: operator.neg, ast.BitOr: operator.or_,
}  # fmt: skip


class Member(NamedTuple):
    """A member of a struct. pointee: the letters of the types that a pointer may point to."""

    name: str
    is_pointer: bool = False
    is_array: bool = False
    pointee: str = ""
    members: tuple["Member", ...] = ()


@dataclass(frozen=True)
class StructType:
    """A struct of the source: its layout in C, and its members, from which it is packed."""

    name: str
    dtype: np.dtype
    members: tuple[Member, ...]

    def pack(self, values: Mapping[str, Any]) -> np.ndarray:
        """The bytes of the struct with these values: a kernel's argument that is passed by value.

        values: for every member, a number; for a pointer an array of its type (NumPy's or CuPy's),
        an address, or None for null; for a struct a mapping like this one. Raises TypeError for a
        member that is missing, unknown, or an array of another type.
        """
        flat: list[Any] = []
        _flatten(self.members, values, flat, self.name)
        # One element without fields: CuPy takes 0.1 ms to describe one that has them.
        return np.frombuffer(self._format.pack(*flat), self._bytes_dtype)

    @cached_property
    def _bytes_dtype(self) -> np.dtype:
        return np.dtype(f"V{self.dtype.itemsize}")

    @cached_property
    def _format(self) -> struct.Struct:
        text, end = "=", 0
        for offset, number in _numbers(self.dtype, 0):
            text += f"{offset - end}x{_LETTERS.get(number.char, number.char)}"
            end = offset + number.itemsize
        return struct.Struct(f"{text}{self.dtype.itemsize - end}x")


def _flatten(
    members: tuple[Member, ...], values: Mapping[str, Any], flat: list[Any], owner: str
) -> None:
    """Append a struct's numbers and addresses, in order."""
    if len(values) != len(members):
        wrong = sorted(values.keys() ^ {member.name for member in members})
        raise TypeError(f"{wrong[0]} is missing from {owner}, or is no member of it")
    for name, is_pointer, is_array, pointee, inner in members:
        try:
            value = values[name]
        except KeyError:
            raise TypeError(f"{name} is missing from {owner}") from None
        if inner:
            _flatten(inner, value, flat, f"{owner}.{name}")
        elif is_array:
            flat.extend(value)
        elif not is_pointer:
            flat.append(value)
        elif value is None:
            flat.append(0)
        elif isinstance(value, (int, np.integer)):
            flat.append(int(value))
        else:
            if pointee and value.dtype.char not in pointee:
                raise TypeError(f"{name} of {owner} does not point to {value.dtype}")
            host = isinstance(value, np.ndarray)
            flat.append(value.__array_interface__["data"][0] if host else value.data.ptr)


def _numbers(dtype: np.dtype, start: int) -> Iterator[tuple[int, np.dtype]]:
    """Every number of a struct, with its offset."""
    if dtype.fields is not None:
        for name in dtype.names or ():
            member, offset = dtype.fields[name][:2]
            yield from _numbers(member, start + offset)
    elif dtype.subdtype is not None:
        element, (length,) = dtype.subdtype
        for i in range(length):
            yield from _numbers(element, start + i * element.itemsize)
    else:
        yield start, dtype


def _pointee_letters(dtype: np.dtype) -> str:
    """The letters of types whose arrays a pointer may point to: integers of either sign."""
    if dtype.kind not in "iu":
        return dtype.char
    return "".join(letter for letter in "bBhHiIlLqQ" if np.dtype(letter).itemsize == dtype.itemsize)


class Declarations:
    """What a source text declares; later declarations may use earlier ones.

    text: the source with its headers, in order. defines: the macros that the host defines.
    types: of names that the source declares in another way, such as templates.
    """

    def __init__(
        self, text: str, defines: Mapping[str, str], types: Mapping[str, str] | None = None
    ) -> None:
        """Read the declarations."""
        text = _COMMENT.sub("", text)
        self._names: dict[str, int] = {}
        self._types = {**_SCALARS, **(types or {})}
        self._macros = dict(_DEFINE.findall(text)) | dict(defines)
        for name, value in self._macros.items():
            self._declare(name, str(value))
        for name, meaning in _USING.findall(text):
            meaning = self._macros.get(meaning, meaning)
            if meaning in self._types and name not in self._types:
                self._types[name] = self._types[meaning]
        for found in re.finditer(f"{_CONSTEXPR.pattern}|{_ENUM.pattern}", text):
            if found[1]:
                for one in re.split(r",\s*(?=\w+ = )", found[1]):
                    self._declare(*one.split(" = ", 1))
            else:
                self._enumerate(found[2])
        self._structs = dict(_STRUCT.findall(text))
        self._known: dict[str, StructType] = {}

    def _declare(self, name: str, expression: str) -> None:
        try:
            plain = _SUFFIX.sub(r"\1", _QUALIFIER.sub("", expression.strip()))
            tree = ast.parse(plain, mode="eval")
            self._names[name] = self._value(tree.body)
        except (SyntaxError, KeyError, ZeroDivisionError):
            self._names.pop(name, None)  # it needs what is not understood

    def _enumerate(self, body: str) -> None:
        value = -1
        for enumerator in filter(None, map(str.strip, body.split(","))):
            name, _, expression = enumerator.partition("=")
            name = name.strip()
            self._declare(name, expression or str(value + 1))
            if name not in self._names:
                return
            value = self._names[name]

    def _value(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return self._names[node.id]
        if isinstance(node, ast.BinOp):
            return int(_OPERATORS[type(node.op)](self._value(node.left), self._value(node.right)))
        if isinstance(node, ast.UnaryOp):
            return int(_OPERATORS[type(node.op)](self._value(node.operand)))
        raise KeyError(ast.dump(node))

    def constant(self, name: str) -> int:
        """The value of a constant, an enumerator or a macro. Raises KeyError."""
        return self._names[name]

    def struct(self, name: str) -> StructType:
        """The layout of a struct. Raises KeyError for one that is not declared, or not so."""
        if name not in self._known:
            self._known[name] = StructType(name, *self._layout(name))
        return self._known[name]

    def _layout(self, name: str) -> tuple[np.dtype, tuple[Member, ...]]:
        fields: list[Any] = []
        members: list[Member] = []
        for declaration in filter(None, map(str.strip, self._structs[name].split(";"))):
            first, *others = re.split(r",\s*", " ".join(declaration.split()))
            found = _MEMBER.match(first)
            if found is None:
                raise KeyError(f"{declaration!r} of {name}")
            _, kind, pointer, member, length = found.groups()
            scalar = self._types.get(kind)
            inner: tuple[Member, ...] = ()
            layout: Any = np.uintp if pointer else scalar
            if layout is None:
                layout, inner = self._layout(kind)
            letters = _pointee_letters(np.dtype(scalar)) if pointer and scalar else ""
            for each in (member, *others):
                fields.append((each, layout, (self._length(length),)) if length else (each, layout))
                members.append(Member(each, bool(pointer), bool(length), letters, inner))
        return np.dtype(fields, align=True), tuple(members)

    def _length(self, text: str) -> int:
        return int(text) if text.isdigit() else self._names[text]
