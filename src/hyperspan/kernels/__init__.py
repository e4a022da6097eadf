"""Every computation that has more than one implementation, and the one place that chooses between them.

Nothing outside asks which one runs. This room imports torch and NumPy, and of ours `errors` alone; `choice` and `libraries`
load neither, nor does the room itself.
"""

from hyperspan.kernels.choice import only, reference, report

__all__ = ["only", "reference", "report"]
