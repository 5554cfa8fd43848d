"""From a model on the Hub to verified files on the disk, over a network that may fail at any byte.

What to fetch comes from `engine.hub`; nothing here knows how it was chosen or who shows the progress.
"""
