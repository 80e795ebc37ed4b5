"""One line of ``mgraph doctor``, and the calls to all workers that the lines are based on."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from mgraph.distributed.doctor import worker_probe

OK, WARN, FAIL = "ok", "warn", "FAIL"


class Check(NamedTuple):
    """One line. state: ok, warn or FAIL. remedy: what to do about it."""

    name: str
    state: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the line as text."""
        line = f"{self.state:4s}  {self.name:12s} {self.message}"
        return f"{line}; {self.remedy}" if self.remedy else line

    def to_json(self) -> dict[str, str]:
        """Return the fields by the names that ``mgraph doctor --json`` has for them."""
        return {"name": self.name, "state": self.state, "told": self.message, "todo": self.remedy}


async def call_workers(
    client: Any, workers: list[str], seconds: float, function: Any, *arguments: Any
) -> dict[str, Any]:
    """Call a function of ``worker_probe`` on each worker; returns results or errors by address."""

    async def call(address: str) -> Any:
        try:
            answer = client.run(
                function, *arguments, workers=[address], on_error="return", asynchronous=True
            )
            return (await asyncio.wait_for(answer, seconds))[address]
        except Exception as error:
            return error

    with pickled_by_value():
        answers = await asyncio.gather(*map(call, workers))
    return dict(zip(workers, answers, strict=True))


@contextlib.contextmanager
def pickled_by_value() -> Iterator[None]:
    """Pickle functions of ``worker_probe`` with their code, for processes without the module."""
    import cloudpickle  # type: ignore[import-untyped]

    cloudpickle.register_pickle_by_value(worker_probe)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            cloudpickle.unregister_pickle_by_value(worker_probe)
