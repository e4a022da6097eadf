"""Logging: one JSON record per line on standard error, from any logger."""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

ACCESS = logging.getLogger("hyperspan.access")
"""One record per request, without any text."""
LOG = logging.getLogger("hyperspan.serve")


def log_to_standard_error(requests: int = logging.INFO) -> None:
    """Log everything in this process to standard error, including warnings and uncaught errors.

    `requests` is the minimum level for requests: ERROR for requests that fail inside the server, INFO for others.
    """
    for logger, formatter in ((ACCESS, logging.Formatter("%(message)s")), (logging.getLogger(), _AsJSON())):
        handler = logging.StreamHandler()
        handler.setFormatter(formatter)
        logger.handlers = [handler]
    ACCESS.propagate = False
    ACCESS.setLevel(requests)
    logging.getLogger().setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = lambda kind, error, trace: _uncaught(error or kind(), trace)
    threading.excepthook = lambda given: _uncaught(given.exc_value or given.exc_type(), given.exc_traceback)
    sys.unraisablehook = lambda given: _uncaught(given.exc_value or given.exc_type(), given.exc_traceback)


def _uncaught(error: BaseException, trace: TracebackType | None) -> None:
    LOG.error("uncaught error", exc_info=(type(error), error, trace))


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def frames(trace: TracebackType | None) -> list[str]:
    """The frames of an error without its message, which may quote a text."""
    last = traceback.extract_tb(trace)[-6:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in last]


class _AsJSON(logging.Formatter):
    """The message, and for an error its type and frames."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {"time": timestamp(), "level": record.levelname.lower(), "logger": record.name}
        entry["message"] = record.getMessage().strip()
        if record.exc_info and record.exc_info[0]:
            entry |= {"error": record.exc_info[0].__name__, "at": frames(record.exc_info[2])}
        return json.dumps(entry)
