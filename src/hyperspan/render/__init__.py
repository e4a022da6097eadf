"""Render mentions and hypergraphs as HTML, SVG and terminal text."""
