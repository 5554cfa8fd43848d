"""Tests of app.services."""
