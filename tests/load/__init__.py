"""Servers and bulk jobs under load, in processes of their own: run by hand, and by `make benchmark`."""
