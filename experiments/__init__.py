"""How the figures and models of the repository were made. It is not part of the package that users install."""
