"""One line of ``mgraph doctor``, and how all workers are asked for what it tells."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from mgraph.distributed.doctor import worker_probe

OK, WARN, FAIL = "ok", "warn", "FAIL"


class Check(NamedTuple):
    """One line. state: ok, warn or FAIL. todo: what to do about it."""

    name: str
    state: str
    told: str
    todo: str = ""

    def __str__(self) -> str:
        """The line for people."""
        line = f"{self.state:4s}  {self.name:12s} {self.told}"
        return f"{line}; {self.todo}" if self.todo else line


async def everyone(
    client: Any, workers: list[str], seconds: float, function: Any, *arguments: Any
) -> dict[str, Any]:
    """Each worker's answer to a function of ``worker_probe``, or the error."""

    async def one(address: str) -> Any:
        try:
            answer = client.run(
                function, *arguments, workers=[address], on_error="return", asynchronous=True
            )
            return (await asyncio.wait_for(answer, seconds))[address]
        except Exception as error:
            return error

    with by_value():
        answers = await asyncio.gather(*map(one, workers))
    return dict(zip(workers, answers, strict=True))


@contextlib.contextmanager
def by_value() -> Iterator[None]:
    """Functions of ``worker_probe`` are sent as they are, for whoever does not have the module."""
    import cloudpickle  # type: ignore[import-untyped]

    cloudpickle.register_pickle_by_value(worker_probe)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            cloudpickle.unregister_pickle_by_value(worker_probe)
