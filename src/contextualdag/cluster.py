"""A connection to a running Dask cluster."""

import asyncio
import contextlib
import importlib.util
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from contextualdag.errors import SweepError

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_SECONDS = 10

_logger = logging.getLogger(__name__)


def require_distributed(what: str) -> None:
    """Raise unless dask.distributed is installed; `what` needs it."""
    if importlib.util.find_spec("distributed") is None:
        raise ImportError(
            f'{what} need the package distributed, which is not installed. Try: pip install "contextualdag[sweeps]"'
        )


@contextlib.contextmanager
def client_of(address: str) -> "Iterator[Client]":
    """A client of the scheduler at an address, such as "tcp://10.0.0.5:8786"."""
    from distributed import Client

    _check_answers(address)
    with Client(address, timeout=_CONNECT_SECONDS, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        if not client.nthreads():
            _logger.warning("The scheduler at %s has no workers yet; the work waits for them.", address)
        yield client


def _check_answers(address: str) -> None:
    """Connect to the scheduler once. A Dask client alone would wait forever where something else listens."""
    from distributed.comm.core import connect
    from distributed.security import Security

    async def connect_once() -> None:
        arguments = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        async with asyncio.timeout(_CONNECT_SECONDS):
            comm = await connect(address, timeout=_CONNECT_SECONDS, **arguments)  # type: ignore[no-untyped-call]
        await comm.close()

    try:
        # In a thread, since a notebook has an event loop of its own.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, connect_once()).result()
    # Whatever listens there may answer anything, so any error is possible.
    except Exception as error:
        raise SweepError(
            f"No dask scheduler answered at {address} within {_CONNECT_SECONDS} seconds ({str(error) or 'no answer'}). "
            "Check the address and that the scheduler runs (`dask scheduler`), or leave it out to use this machine."
        ) from error
