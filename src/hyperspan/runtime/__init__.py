"""Trained segmental and discontinuous models with NumPy and the C kernels alone: what annotating needs, without torch.

Imports NumPy, config, vocabulary, types, and the modules of kernels and structures that need no torch; inference
imports it.
"""
