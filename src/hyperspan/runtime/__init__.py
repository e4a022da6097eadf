"""Run trained segmental and discontinuous models with NumPy and the C kernels only: annotation without torch.

Imports NumPy, config, vocabulary, types, and the modules of kernels and structures that need no torch; inference
imports it.
"""
