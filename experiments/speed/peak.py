"""The most operations a second that a processor can do: fused multiply-adds in its widest vectors, which peak.c runs.

torch's product of matrices is a lower limit than that: on AMD's processors it uses half of the width.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hyperspan.errors import InputError

SOURCE = Path(__file__).with_name("peak.c")
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=fast", "-shared", "-fPIC")
COMPILERS = ("cc", "gcc", "clang")
TURNS = 30_000_000
"""The turns of the loop per thread, about 0.05 s."""


class Peak:
    """Fused multiply-adds in several threads: the upper limit of operations per second on this machine."""

    def __init__(self, threads: int):
        compiler = next(filter(shutil.which, COMPILERS), None)
        if compiler is None:
            raise InputError(
                f"the peak is measured in C, and there is no compiler; install one of {', '.join(COMPILERS)}"
            )
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "peak.so"
            # The processor's own instructions, also where the compiler would rather use narrower vectors.
            subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", str(library)], check=True, capture_output=True)
            loaded = ctypes.CDLL(str(library))
        self._run = loaded.multiply_add
        self._run.argtypes, self._run.restype = (ctypes.c_int64, ctypes.c_float, ctypes.c_float), ctypes.c_float
        loaded.operations_a_turn.restype = ctypes.c_int64
        self.threads = threads
        self.operations = threads * TURNS * loaded.operations_a_turn()
        self._pool = ThreadPoolExecutor(threads)

    def __call__(self) -> None:
        for done in [self._pool.submit(self._run, TURNS, 0.999, 0.001) for _ in range(self.threads)]:
            done.result()
