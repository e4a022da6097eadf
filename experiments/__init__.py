"""How the figures and models of the repository were made. It is not part of the package that users install."""

from pathlib import Path

CONFIGS = Path(__file__).parent / "configs"
"""The folder of configurations, CORPUS/NAME.toml."""
