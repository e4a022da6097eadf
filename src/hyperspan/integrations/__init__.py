"""hyperspan inside other people's tools, a module for each; none is imported before it is asked for."""
