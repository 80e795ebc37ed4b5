"""CUDA kernels: loading, launching, transfer, and a compile check that needs no GPU.

A kernel's source file is declared once, beside the host code that launches it (``Source``), and
exports ``extern "C"`` functions. Types and sizes are macros that the host defines, so one source
serves several types, and CuPy's disk cache serves every process after the first.
"""
