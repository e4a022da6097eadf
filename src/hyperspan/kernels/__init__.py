"""Every computation that has more than one implementation, and the one place that chooses between them.

Nothing outside asks which one runs. This package imports torch and NumPy, and of ours `errors` alone; `choice` and
`libraries` load neither, nor does the package itself.
"""

from hyperspan.kernels.choice import only, precisions, reference, report

__all__ = ["only", "precisions", "reference", "report"]
