"""The browser package in web/: it answers as Python does."""
