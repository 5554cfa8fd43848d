"""A Hub for tests: a real HTTP server on loopback that the real `huggingface_hub` talks to."""
