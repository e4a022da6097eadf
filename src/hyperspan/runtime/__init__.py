"""Trained models at work, from a folder to annotated documents: NumPy and the C kernels, without torch where it can be.

Imports values, kernels, text, corpora and structures; a model that needs torch is loaded from nn by its address.
"""
