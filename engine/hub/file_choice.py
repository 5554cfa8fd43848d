"""`REPO[:QUANT or FILE]`, or an address pasted from the browser, as one model of one repository.

What was typed goes in, what it names comes out; what cannot be told apart is answered with a list of what
there is. Nothing is asked of the Hub here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from engine.errors import BadRequest
from engine.hub.file_names import name_fault
from engine.hub.hub_values import RemoteModel, RepoDetails, WeightsFormat
from engine.hub.repo_names import is_repo_id
from engine.models.byte_reader import shown

_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")
_PLACES = ("blob", "resolve", "raw", "tree")
_MOST_LISTED = 12

# What most people want, about 4.8 bits a weight, then what is nearest to it in size and quality.
_PREFERRED = (
    "Q4_K_M",
    "UD-Q4_K_XL",
    "Q4_K_XL",
    "Q4_K_L",
    "Q4_K_S",
    "IQ4_XS",
    "IQ4_NL",
    "MXFP4",
    "MXFP4_MOE",
    "Q4_1",
    "Q4_0",
    "Q4_K",
    "Q4",
    "Q5_K_M",
    "UD-Q5_K_XL",
    "Q5_K_S",
    "Q5_1",
    "Q5_0",
    "Q3_K_L",
    "Q3_K_M",
    "UD-Q3_K_XL",
    "Q6_K",
    "UD-Q6_K_XL",
    "IQ3_M",
    "Q8_0",
    "IQ3_XXS",
    "Q2_K",
    "BF16",
    "F16",
    "F32",
)
_WORDS = {
    WeightsFormat.SAFETENSORS: "safetensors files",
    WeightsFormat.AWQ: "AWQ weights",
    WeightsFormat.GPTQ: "GPTQ weights",
    WeightsFormat.EXL2: "EXL2 weights",
    WeightsFormat.MLX: "MLX weights",
}


@dataclass(frozen=True, slots=True)
class FileChoice:
    """What was typed: a repository, the revision of an address, and a quantization, file or folder."""

    repo_id: str
    revision: str | None = None
    wanted: str | None = None


def read_choice(text: str) -> FileChoice:
    """What `text` names: `owner/name`, `owner/name:Q4_K_M`, `owner/name:file.gguf`, or a page's address.

    Raises BadRequest for anything else.
    """
    text = text.strip()
    path = _path_of_address(text)
    repo_id, colon, wanted = (text if path is None else path).partition(":")
    revision = None
    if path is not None and not colon:
        repo_id, revision, wanted = _split_path(path)
    if not is_repo_id(repo_id) or "/" not in repo_id:
        raise BadRequest(
            f"{shown(text)} names no repository. Write owner/name, owner/name:Q4_K_M or "
            "owner/name:file.gguf, or paste the address of its page."
        )
    return FileChoice(repo_id, revision, wanted or None)


def searched_words(text: str) -> str:
    """What to search for where `text` was typed: of a pasted address, the repository's name."""
    if _path_of_address(text.strip()) is None:
        return text.strip()
    return read_choice(text).repo_id


def choose(details: RepoDetails, wanted: str | None = None) -> RemoteModel:
    """The model of `details` that `wanted` names: its quantization, its file, a part of it, or its folder.

    Without `wanted`, one of 4 bits or what is nearest, of those that can be downloaded. Raises BadRequest
    with a list for none or several.
    """
    whole = [model for model in details.models if not model.missing and name_fault(model) is None]
    if not details.models:
        raise BadRequest(_no_models(details))
    found = _named(details.models, wanted) if wanted else _usual(whole)
    if len(found) == 1:
        return found[0]
    repo_id = shown(details.summary.repo_id)
    if not found:
        what = f"no {shown(wanted)}" if wanted else "no model that can be downloaded"
        raise BadRequest(f"{repo_id} has {what}. It has: {_listed(details.models)}.")
    which = f"several that {shown(wanted)} names" if wanted else "several models"
    raise BadRequest(f"{repo_id} has {which}. Name one of them: {_listed(found, by_file=True)}.")


def _path_of_address(text: str) -> str | None:
    """The path of an address at a Hub, without slashes around it; None for what is no address."""
    if "://" not in text and not text.startswith(tuple(f"{host}/" for host in _HOSTS)):
        return None
    parts = urlsplit(text if "://" in text else f"https://{text}")
    if parts.scheme not in ("http", "https", "hf"):
        return None
    is_page = parts.scheme != "hf"
    return unquote(parts.path if is_page else f"{parts.netloc}{parts.path}").strip("/")


def _split_path(path: str) -> tuple[str, str | None, str]:
    """Repository, revision and file or folder of `owner/name/blob/main/file.gguf`."""
    owner, _, rest = path.partition("/")
    name, _, rest = rest.partition("/")
    place, _, rest = rest.partition("/")
    if place not in _PLACES:
        return f"{owner}/{name}", None, ""
    revision, _, wanted = rest.partition("/")
    return f"{owner}/{name}", revision or None, wanted


def _named(models: Sequence[RemoteModel], wanted: str) -> list[RemoteModel]:
    """Those that `wanted` names: by a whole path, else by quantization, name or folder, in any case."""
    low = wanted.lower().strip("/")
    exact = [model for model in models if low in (part.path.lower() for part in model.parts)]
    return exact or [model for model in models if low in _names(model)]


def _names(model: RemoteModel) -> set[str]:
    paths = [PurePosixPath(part.path.lower()) for part in model.parts]
    names = {name for path in paths for name in (path.name, path.stem, str(path.parent))}
    return names if model.quantization is None else names | {model.quantization.lower()}


def _usual(models: Iterable[RemoteModel]) -> list[RemoteModel]:
    """Those of the best known quantization; all if none is known."""
    by_rank: dict[int, list[RemoteModel]] = {}
    for model in models:
        by_rank.setdefault(_rank(model), []).append(model)
    return by_rank[min(by_rank)] if by_rank else []


def _rank(model: RemoteModel) -> int:
    return _PREFERRED.index(model.quantization) if model.quantization in _PREFERRED else len(_PREFERRED)


def _listed(models: Iterable[RemoteModel], by_file: bool = False) -> str:
    names = list(
        dict.fromkeys(shown(model.parts[0].path if by_file else _short_name(model)) for model in models)
    )
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _short_name(model: RemoteModel) -> str:
    name = model.quantization or model.parts[0].path
    if name_fault(model):
        return f"{name} (its name cannot be a file name here)"
    return f"{name} (parts are missing)" if model.missing else name


def _no_models(details: RepoDetails) -> str:
    repo_id, words = shown(details.summary.repo_id), _WORDS.get(details.summary.weights_format)
    if words is None:
        return f"{repo_id} has no GGUF model. Choose another repository."
    name = shown(details.summary.repo_id.rpartition("/")[2])
    return (
        f"{repo_id} holds {words}, and Weir loads GGUF only. Look for its GGUF versions: weir search {name}"
    )
