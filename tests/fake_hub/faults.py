"""What may go wrong with a file's transfer: switches that a test sets at any moment, also while bytes flow.

A number of times counts down with each answer that had the fault; `ALWAYS` is more than any test asks for.
What begins with `api_` concerns `tests.fake_hub.api`, everything else files (`tests.fake_hub.files`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

ALWAYS = 1 << 30


@dataclass
class Faults:
    """All switches, off at first."""

    # What the Hub itself answers instead of the file.
    status: int | None = None  # as in 401, 403, 404, 429, 503
    status_times: int = ALWAYS
    error_code: str | None = None  # X-Error-Code, as in GatedRepo
    retry_after: str | None = None
    refuses_tokens: bool = False  # 401, but only for requests that carry a token

    # Where the bytes come from.
    from_storage: bool = True  # LFS files: 302 to the second port with a signed URL, as the real Hub does
    expired_urls: int = 0  # so many requests at the storage are answered with 403
    storage_status: int | None = None
    storage_status_times: int = ALWAYS

    # What the headers say.
    ignores_range: bool = False  # 200 and the whole file
    ignores_if_range: bool = False
    starts_at: int | None = None  # a 206 begins there, whatever was asked for
    unsatisfiable: int = 0  # so many requests with a Range are answered with 416
    etag: str | None = None  # instead of the file's own
    total: int | None = None  # instead of the file's size in Content-Range
    no_accept_ranges: bool = False
    no_length: bool = False  # chunked

    # What the bytes do.
    cuts: list[int] = field(default_factory=list)  # each answer closes after the next of these many bytes
    cut_after: int | None = None  # every answer closes after so many bytes
    resets: bool = False  # a cut is a TCP reset instead of an orderly close
    wrong_bytes: int = 0  # so many answers have one wrong byte, and the right length
    bytes_per_second: float | None = None
    stall_after: int | None = None  # nothing comes after so many bytes of an answer ...
    stall_s: float = 3600.0  # ... for so long
    stall_times: int = ALWAYS

    # What the API answers; `refuses_tokens` holds for it too.
    api_status: int | None = None
    api_error_code: str | None = None  # X-Error-Code
    api_headers: dict[str, str] = field(default_factory=dict)  # beside `api_status`
    api_body: bytes | None = None  # with status 200, instead of JSON
    api_delay_s: float = 0.0
    api_drip_s: float = 0.0  # this long before each further 64 bytes of an answer
    api_next_origin: str | None = None  # whom the link to the next page names, instead of the Hub

    def take(self, name: str) -> bool:
        """Whether the fault that `name` counts happens now; counts down."""
        left: int = getattr(self, name)
        if left > 0:
            setattr(self, name, left - 1)
        return left > 0
