"""A small case of every kernel path, for compute-sanitizer (it takes minutes on large ones):

compute-sanitizer --tool memcheck  python3 -m tests.gpu.sanitize
compute-sanitizer --tool racecheck python3 -m tests.gpu.sanitize
"""

import mgraph
from mgraph import CopyModel

CASES = [
    (CopyModel(3000, 1), None),
    (CopyModel(3000, 4), None),
    (CopyModel(1500, 8, 0.0), None),
    (CopyModel(1001, 7), range(3, 777)),
    (CopyModel(400, 32), None),
    (CopyModel(300, 33, 0.1), None),
    (CopyModel(4099, 4096, 0.5), range(4095, 4099)),
    (CopyModel(1 << 35, 8), range(1 << 34, (1 << 34) + 300)),
]


def main():
    for model, part in CASES:
        cpu, gpu = (mgraph.edges(model, part, backend=backend) for backend in ("cpu", "gpu"))
        assert gpu.checksum == cpu.checksum, model
        assert (gpu.edges.dst.get() == cpu.edges.dst).all(), model
    print(f"{len(CASES)} cases equal the CPU")


if __name__ == "__main__":
    main()
