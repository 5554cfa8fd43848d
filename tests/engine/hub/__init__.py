"""Tests of what the Hub says; the real `huggingface_hub` asks a fake one on loopback."""
