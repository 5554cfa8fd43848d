"""Tests of what a person touches; windows are offscreen."""
