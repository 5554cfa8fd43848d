"""Tests of app.item_models."""
