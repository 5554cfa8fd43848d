"""Tests of what a model file is."""
