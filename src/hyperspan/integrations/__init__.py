"""Integrations with other tools, one module each; none is imported before it is used."""
