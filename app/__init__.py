"""Weir's front ends: the window and the terminal."""
