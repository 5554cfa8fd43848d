"""Weir's engine: from a GGUF file to text, without any Qt."""
