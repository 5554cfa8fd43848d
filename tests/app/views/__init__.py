"""Tests of app.views."""
