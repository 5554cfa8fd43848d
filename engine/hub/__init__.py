"""What the Hugging Face Hub offers: repositories, their files, and what a remote model is.

Queries go in, values come out; nothing is stored here and no model is downloaded (`engine.download` does).
"""
