"""The terminal front end: the same engine as the window's, without Qt."""
