"""Tests mirror the packages: `engine/` without Qt, `app/` offscreen, `native/` with a real model."""
