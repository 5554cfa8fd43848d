"""Tests of the engine; none of them needs Qt."""
