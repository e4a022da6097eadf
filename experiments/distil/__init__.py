"""Distil several large teachers into small students: what the teachers say of every sentence is written down once."""
