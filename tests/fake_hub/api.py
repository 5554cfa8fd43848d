"""The Hub's API as `huggingface_hub` asks for it: search with pages, one repository, whose token it is.

A request goes in, JSON or a fault goes out. Fields and errors are named as huggingface.co names them; the
search finds text in names, as the real one does, and pages by a `Link` header.
"""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from tests.fake_hub.content import HubFile, HubRepo

if TYPE_CHECKING:
    from tests.fake_hub.server import FakeHub

_PAGE = 1000
_DRIP_BYTES = 64
_SORT_KEYS = {"downloads": "downloads", "likes": "likes", "lastModified": "last_modified"}
_ALWAYS = ("_id", "id", "modelId")


def answer_api(handler: BaseHTTPRequestHandler, hub: FakeHub) -> None:
    """Answer a request to a path under /api/."""
    if _answer_by_fault(handler, hub):
        return
    url = urlsplit(handler.path)
    query = parse_qs(url.query)
    path = unquote(url.path).removeprefix("/api/").strip("/")
    if path == "whoami-v2":
        _answer_whoami(handler, hub)
    elif path == "models":
        _answer_search(handler, hub, query)
    elif path.startswith("models/"):
        _answer_repo(handler, hub, path.removeprefix("models/"), query)
    else:
        send_error(handler, 404, None, "Not Found")


def send_json(
    handler: BaseHTTPRequestHandler, value: object, status: int = 200, headers: dict[str, str] | None = None
) -> None:
    """Send `value` as JSON."""
    send_bytes(
        handler, json.dumps(value).encode(), status, {"Content-Type": "application/json"} | (headers or {})
    )


def send_bytes(
    handler: BaseHTTPRequestHandler, body: bytes, status: int, headers: dict[str, str], drip_s: float = 0.0
) -> None:
    """Send `body` with its length, or its length alone for HEAD; `drip_s` between every 64 bytes."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        for start in range(0, len(body), _DRIP_BYTES) if drip_s else ():
            handler.wfile.write(body[start : start + _DRIP_BYTES])
            time.sleep(drip_s)
        if not drip_s:
            handler.wfile.write(body)


def send_error(handler: BaseHTTPRequestHandler, status: int, code: str | None, sentence: str) -> None:
    """Refuse as huggingface.co does: the reason in headers and in the body."""
    headers = {"X-Error-Message": sentence} | ({"X-Error-Code": code} if code else {})
    send_json(handler, {"error": sentence}, status, headers)


def token_of(handler: BaseHTTPRequestHandler) -> str | None:
    """The token that came with the request."""
    return handler.headers.get("Authorization", "").removeprefix("Bearer ").strip() or None


def _answer_by_fault(handler: BaseHTTPRequestHandler, hub: FakeHub) -> bool:
    faults = hub.faults
    if faults.api_delay_s:
        time.sleep(faults.api_delay_s)
    if faults.refuses_tokens and token_of(handler) is not None:
        send_error(handler, 401, None, "Invalid credentials in Authorization header")
    elif faults.api_status is not None:
        headers = faults.api_headers | (
            {"X-Error-Code": faults.api_error_code} if faults.api_error_code else {}
        )
        send_json(handler, {"error": "as the test wished"}, faults.api_status, headers)
    elif faults.api_body is not None:
        send_bytes(handler, faults.api_body, 200, {"Content-Type": "text/html"}, faults.api_drip_s)
    else:
        return False
    return True


def _answer_whoami(handler: BaseHTTPRequestHandler, hub: FakeHub) -> None:
    if token_of(handler) is None:
        send_error(handler, 401, None, "Invalid username or password.")
    else:
        send_json(handler, {"type": "user", "name": "tester", "auth": {"accessToken": {"role": "read"}}})


def _answer_search(handler: BaseHTTPRequestHandler, hub: FakeHub, query: dict[str, list[str]]) -> None:
    found = [repo for repo in hub.repos.values() if _is_found(repo, query)]
    key = _SORT_KEYS.get(query.get("sort", ["downloads"])[0], "downloads")
    found.sort(key=lambda repo: getattr(repo, key), reverse=query.get("direction", ["-1"])[0] == "-1")
    start = int(query.get("cursor", ["0"])[0])
    end = start + min(int(query.get("limit", [_PAGE])[0]), _PAGE)
    headers = {}
    if end < len(found):
        rest = urlencode(query | {"cursor": [str(end)]}, doseq=True)
        origin = hub.faults.api_next_origin or hub.endpoint
        headers["Link"] = f'<{origin}/api/models?{rest}>; rel="next"'
    send_json(handler, [_fields(repo, query) for repo in found[start:end]], headers=headers)


def _is_found(repo: HubRepo, query: dict[str, list[str]]) -> bool:
    words = " ".join(query.get("search", [])).lower().split()
    wanted = {tag for filters in query.get("filter", []) for tag in filters.split(",")}
    authors = query.get("author", [])
    return (
        not repo.private
        and all(word in repo.repo_id.lower() for word in words)
        and wanted <= set(repo.tags)
        and all(repo.repo_id.startswith(f"{author}/") for author in authors)
    )


def _answer_repo(
    handler: BaseHTTPRequestHandler, hub: FakeHub, path: str, query: dict[str, list[str]]
) -> None:
    repo_id, _, rest = path.partition("/revision/")
    repo_id, _, folder = repo_id.partition("/tree/")
    repo = hub.repos.get(repo_id)
    if repo is None or (repo.private and token_of(handler) is None):
        # The real one does not tell strangers what is private and what does not exist.
        status, sentence = (
            (404, "Repository not found") if token_of(handler) else (401, "Invalid username or password.")
        )
        send_error(handler, status, "RepoNotFound", sentence)
    elif (rest or folder.partition("/")[0] or "main") not in ("main", repo.commit):
        send_error(handler, 404, "RevisionNotFound", f"Invalid rev id: {rest or folder}")
    elif folder:
        send_json(handler, [_tree_entry(name, file) for name, file in repo.files.items()])
    else:
        send_json(handler, _fields(repo, query | {"full": ["true"]}))


def _fields(repo: HubRepo, query: dict[str, list[str]]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "_id": "0" * 24,
        "id": repo.repo_id,
        "modelId": repo.repo_id,
        "author": repo.repo_id.partition("/")[0],
        "sha": repo.commit,
        "downloads": repo.downloads,
        "likes": repo.likes,
        "lastModified": repo.last_modified,
        "createdAt": repo.last_modified,
        "private": repo.private,
        "gated": repo.gated,
        "disabled": False,
        "tags": repo.tags,
        "cardData": _card(repo.tags),
        "siblings": [_sibling(name, file, "blobs" in query) for name, file in repo.files.items()],
    }
    if "expand" in query:
        kept: tuple[str, ...] = (*_ALWAYS, *query["expand"])
    elif "full" in query:
        kept = tuple(fields)
    else:
        kept = (*_ALWAYS, "downloads", "likes", "private", "tags", "createdAt")
    return {name: value for name, value in fields.items() if name in kept}


def _card(tags: list[str]) -> dict[str, Any]:
    """What the owner wrote at the top of the README, from which the Hub makes these tags."""
    card: dict[str, Any] = {}
    for tag in tags:
        name, _, value = tag.partition(":")
        if name == "license":
            card["license"] = value
        elif name == "base_model" and ":" not in value:
            card.setdefault("base_model", []).append(value)
    return card


def _sibling(name: str, file: HubFile, with_blob: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"rfilename": name}
    if with_blob:
        fields |= {"blobId": file.sha256[:40], "size": file.size}
        if file.is_lfs:
            fields["lfs"] = {"sha256": file.sha256, "size": file.size, "pointerSize": 134}
    return fields


def _tree_entry(name: str, file: HubFile) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": name, "size": file.size, "oid": file.sha256[:40]}
    if file.is_lfs:
        entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": 134}
    return entry


def file_url(hub: FakeHub, repo: HubRepo, name: str) -> str:
    """Where the file `name` of `repo` is asked for."""
    return f"{hub.endpoint}/{repo.repo_id}/resolve/{repo.commit}/{quote(name)}"
