"""A fake Hub in a process of its own, with one file; prints its endpoint and ends with its stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.server import fake_hub

if __name__ == "__main__":
    with fake_hub() as hub:
        hub.add(HubRepo("org/repo", {"model.gguf": HubFile(Path(sys.argv[1]))}))
        print(hub.endpoint, flush=True)
        sys.stdin.read()
