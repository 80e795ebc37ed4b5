"""Machine code for the functions that Python calls, and not for each that these call.

Numba optimises every compiled function as a module of its own, with a wrapper for Python, one for C
and machine code, and does so again where another compiled function calls it and LLVM inlines it.
Within ``outermost``, functions that are compiled for the sake of another one, Numba's own among
them, stop at LLVM's unoptimised code, which becomes part of the outermost function's module. That
takes a third to a half of the compiler's time away, and leaves the outermost function's machine
code as it was.

This replaces methods of Numba's compiler, of 0.61 to 0.68, by ones that do as before outside of
``outermost``. ``tests/core/test_nested_compilation.py`` looks them up; where one is missing, Numba
is left as it is.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import codegen, cpu, dispatcher, environment, event, lowering
from numba.core.compiler_lock import global_compiler_lock

# What is replaced, and what is used.
NEEDS = {
    codegen.JITCodeLibrary: [
        "_optimize_final_module",
        "_finalize_specific",
        "_finalize_final_module",
        "_ensure_finalized",
    ],
    codegen.JITCPUCodegen: ["_add_module", "set_env"],
    cpu.CPUContext: ["get_executable"],
    dispatcher.Dispatcher: ["add_overload"],
    environment: ["lookup_environment"],
    lowering.Lower: ["create_cpython_wrapper", "create_cfunc_wrapper"],
}
_ENVIRONMENT = "_ZN08NumbaEnv"  # begins the name of a function's variable with its constants


class WithoutMachineCode:
    """Stands for the machine code of a function that was compiled for another one's sake."""


class _Compiling(threading.local):
    """What this thread compiles."""

    active = False  # within ``outermost``
    depth = 0  # of functions, each compiled for the sake of the one before
    library: Any = None  # of the outermost function, while its module is completed
    finalized: Any = None  # the library whose module is being completed

    @property
    def nested(self) -> bool:
        return self.active and self.depth > 1


_compiling = _Compiling()


class _Listener(event.Listener):
    """Counts how deep a thread is in functions that it compiles."""

    def on_start(self, event: Any) -> None:
        """Numba's hook."""
        _compiling.depth += 1

    def on_end(self, event: Any) -> None:
        """Numba's hook."""
        _compiling.depth -= 1


@contextlib.contextmanager
def outermost(compiled: Any, types: tuple[Any, ...]) -> Iterator[None]:
    """Compile a dispatcher's function for these types, with all that it calls, as said above.

    Nothing changes where that happens for the sake of another function.
    """
    previous = _compiling.active
    with global_compiler_lock:
        if not _compiling.depth:
            _compiling.active = _is_possible
            if types in compiled.overloads and not has_machine_code(compiled, types):
                del compiled.overloads[types]  # now it is called from Python
        try:
            yield
        finally:
            _compiling.active = previous


def has_machine_code(compiled: Any, types: tuple[Any, ...]) -> bool:
    """Return whether a dispatcher has machine code for arguments of these types."""
    existing = compiled.overloads.get(types)
    return existing is not None and not isinstance(existing.entry_point, WithoutMachineCode)


def _is_part(library: Any) -> bool:
    """Return whether a library becomes part of another one that is compiled now."""
    is_from_disk = getattr(library, "_compiled_object", None) is not None
    is_other = _compiling.library is not library and not is_from_disk
    return _compiling.active and _compiling.depth > 0 and is_other


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _unless_part(complete: Any) -> Any:
    def complete_unless_part(library: Any) -> None:
        if not _is_part(library):
            complete(library)

    return complete_unless_part


def _unless_nested(create: Any) -> Any:
    def create_unless_nested(lower: Any, *arguments: Any) -> None:
        if not _compiling.nested:
            create(lower, *arguments)

    return create_unless_nested


def _unless_active(create: Any) -> Any:
    def create_unless_active(lower: Any) -> None:
        if not _compiling.active:
            create(lower)

    return create_unless_active


def _noting_library(finalize: Any) -> Any:
    def finalize_final_module(library: Any) -> None:
        previous, _compiling.finalized = _compiling.finalized, library
        try:
            finalize(library)
        finally:
            _compiling.finalized = previous

    return finalize_final_module


def _adding_whole_modules(add: Any) -> Any:
    def add_module(engine: Any, module: Any) -> Any:
        library = _compiling.finalized
        return None if library is not None and _is_part(library) else add(engine, module)

    return add_module


def _executable_if_outermost(get: Any) -> Any:
    def get_executable(context: Any, library: Any, description: Any, env: Any) -> Any:
        if _compiling.nested and not library._finalized:
            library._ensure_finalized()
            return WithoutMachineCode()
        previous, _compiling.library = _compiling.library, library
        try:
            function = get(context, library, description, env)
        finally:
            _compiling.library = previous
        # Each part has its own environment, which Numba sets for the function at hand alone.
        for variable in library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                part = environment.lookup_environment(variable.name)
                if part is not None:
                    library.codegen.set_env(variable.name, part)
        return function

    return get_executable


def _without_insertion(add: Any) -> Any:
    def add_overload(compiled: Any, result: Any) -> None:
        if isinstance(result.entry_point, WithoutMachineCode):
            compiled.overloads[tuple(result.signature.args)] = result
        else:
            add(compiled, result)

    return add_overload


_is_possible = all(hasattr(owner, name) for owner, names in NEEDS.items() for name in names)
if _is_possible:
    event.register("numba:compile", _Listener())
    _replace(codegen.JITCodeLibrary, "_optimize_final_module", _unless_part)
    _replace(codegen.JITCodeLibrary, "_finalize_specific", _unless_part)
    _replace(codegen.JITCodeLibrary, "_finalize_final_module", _noting_library)
    _replace(codegen.JITCPUCodegen, "_add_module", _adding_whole_modules)
    _replace(cpu.CPUContext, "get_executable", _executable_if_outermost)
    _replace(lowering.Lower, "create_cpython_wrapper", _unless_nested)
    _replace(lowering.Lower, "create_cfunc_wrapper", _unless_active)
    _replace(dispatcher.Dispatcher, "add_overload", _without_insertion)
