"""Computations that have more than one implementation, and the one place that chooses between them.

Code outside does not depend on which one runs. Modules here import torch, NumPy and, from hyperspan, only `errors`; the
package itself, `choice` and `libraries` load neither torch nor NumPy.
"""

from hyperspan.kernels.choice import dtypes, only, reference, report

__all__ = ["dtypes", "only", "reference", "report"]
