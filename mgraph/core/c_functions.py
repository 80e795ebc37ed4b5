"""Calls of C functions and loads of memory, by address, in functions that Numba compiles."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


@intrinsic
def call(
    typing_context: Any, function: Any, one: Any, two: Any, three: Any, four: Any
) -> tuple[Any, Any]:
    """Call the C function at an address; one that takes fewer arguments ignores the others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.FunctionType(_WORD, [_WORD] * 4).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], pointer), arguments[1:])

    return types.int64(*[types.int64] * 5), generate


@intrinsic
def word_at(typing_context: Any, address: Any) -> tuple[Any, Any]:
    """The 8 bytes at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

    return types.int64(types.int64), generate
