"""The one place that knows Weir's version."""

VERSION = "0.1.0"
