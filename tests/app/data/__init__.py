"""Tests of what is stored; no Qt."""
