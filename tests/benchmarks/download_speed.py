"""One download of a file by Weir, in a process of its own; prints the seconds until it was verified."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from engine.download.model_download import download_model
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.loopback import Elsewhere, LoopbackAccess
from tests.fake_hub.content import COMMIT


def main(endpoint: str, size: str, sha256: str, folder: str) -> None:
    model = RemoteModel("org/repo", COMMIT, (RemotePart("model.gguf", int(size), sha256),))
    start = time.perf_counter()
    download_model(
        LoopbackAccess(Elsewhere(endpoint)),
        model,
        Path(folder),
        report=lambda state: None,
        stop=threading.Event(),
    )
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
