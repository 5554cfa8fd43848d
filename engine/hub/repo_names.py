"""What the names on the Hub tell: a repository's format, a model's quantization, which files are one model.

Tags and file names go in, values come out; nothing is asked. Names are strangers' text: what does not look
like the names that llama.cpp's tools write is told as unknown, never guessed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from engine.hub.hub_values import RemoteModel, RemotePart, WeightsFormat
from engine.models.model_parts import PART_NAME

# Both become parts of paths and addresses. Old repositories have no owner.
_REPO_ID = re.compile(r"(?:\w[\w.-]{0,95}/)?\w[\w.-]{0,95}", re.ASCII)

MOST_MISSING = 100  # a name may claim 99,999 parts

# Types of ggml, and the mixes of llama-quantize and of well-known quantizers, who add _L and _XL.
_QUANTIZED = re.compile(
    r"(?<![A-Z0-9])((?:UD-)?(?:I?Q[1-8](?:_(?:[01]|K|NL|XXS|XS|S|M|L|XL|4_4|4_8|8_8))+|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4))"
    r"(?![A-Z0-9])",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?<![A-Z0-9])(BF16|FP?16|FP?32|Q[2-8])(?![A-Z0-9])", re.IGNORECASE)

_BY_TAG = {
    "gguf": WeightsFormat.GGUF,
    "awq": WeightsFormat.AWQ,
    "gptq": WeightsFormat.GPTQ,
    "exl2": WeightsFormat.EXL2,
    "mlx": WeightsFormat.MLX,
}
_BY_NAME = re.compile(r"(?<![a-z0-9])(awq|gptq|exl2|mlx)(?![a-z])", re.IGNORECASE)


def is_repo_id(text: str) -> bool:
    """Whether `text` can be a repository's name, as `owner/name`."""
    return _REPO_ID.fullmatch(text) is not None and ".." not in text


def weights_format(repo_id: str, tags: Iterable[str]) -> WeightsFormat:
    """How the weights of `repo_id` are stored, by its `tags`, or else by its name."""
    known = {tag.lower() for tag in tags}
    for tag, found in _BY_TAG.items():
        if tag in known:
            return found
    if name := _BY_NAME.search(repo_id.partition("/")[2]):
        return _BY_TAG[name[1].lower()]
    return WeightsFormat.SAFETENSORS if "safetensors" in known else WeightsFormat.OTHER


def quantization_of(path: str) -> str | None:
    """The quantization that the file's name tells, else its folder's: `Q4_K_M`, `UD-IQ2_XXS`, `BF16`."""
    file = PurePosixPath(path)
    for pattern in (_QUANTIZED, _BARE):
        for name in (file.stem, *(folder.name for folder in file.parents)):
            if found := pattern.findall(name):
                return (
                    str(found[-1])
                    .upper()
                    .replace("FP16", "F16")
                    .replace("FP32", "F32")
                    .replace("BF16", "BF16")
                )
    return None


def is_model_file(path: str) -> bool:
    """Whether the file at `path` is a GGUF model, and no projector or importance matrix beside one."""
    name = PurePosixPath(path).name.lower()
    if not name.endswith(".gguf") or "mmproj" in name:
        return False
    # `model-imatrix-Q4_K_M.gguf` was quantized with one, `model.imatrix.gguf` is one.
    return "imatrix" not in name or quantization_of(name) is not None


def models_of(repo_id: str, revision: str, files: Iterable[RemotePart]) -> tuple[RemoteModel, ...]:
    """The models among `files`, the smallest first; the parts of a split one together."""
    whole: list[RemoteModel] = []
    split: dict[tuple[str, str, int], dict[int, RemotePart]] = defaultdict(dict)
    for file in files:
        if not is_model_file(file.path):
            continue
        path = PurePosixPath(file.path)
        name = PART_NAME.fullmatch(path.name)
        if name is None:
            whole.append(RemoteModel(repo_id, revision, (file,), quantization_of(file.path)))
        elif 1 <= int(name["number"]) <= int(name["count"]):
            split[str(path.parent), name["prefix"], int(name["count"])][int(name["number"])] = file
    joined = [
        _joined(RemoteModel(repo_id, revision, ()), prefix, count, parts)
        for (_, prefix, count), parts in split.items()
    ]
    return tuple(sorted(whole + joined, key=lambda model: (model.size, model.id)))


def _joined(empty: RemoteModel, prefix: str, count: int, parts: dict[int, RemotePart]) -> RemoteModel:
    """One model of `parts` by number, with the names of those that lack, at most `MOST_MISSING`."""
    lacking = [number for number in range(1, count + 1) if number not in parts][:MOST_MISSING]
    return replace(
        empty,
        parts=tuple(parts[number] for number in sorted(parts)),
        quantization=quantization_of(next(iter(parts.values())).path),
        missing=tuple(f"{prefix}-{number:05d}-of-{count:05d}.gguf" for number in lacking),
    )


def name_without_format(repo_id: str) -> str:
    """The name of `repo_id` without owner and format: `Llama-3-8B` of `x/Llama-3-8B-AWQ`."""
    name = repo_id.rpartition("/")[2]
    found = _BY_NAME.search(name)
    return name[: found.start()].rstrip("-_. ") or name if found else name


def name_without_quantization(path: str) -> str:
    """What the file at `path` is called in all quantizations: `llama-3-8b` of `x/Llama-3-8B-Q4_K_M.gguf`."""
    name = PurePosixPath(path).name
    part = PART_NAME.fullmatch(name)
    plain = part["prefix"] if part else PurePosixPath(name).stem
    for pattern in (_QUANTIZED, _BARE):
        plain = pattern.sub("", plain)
    return re.sub(r"[-_. ]+", "-", plain.lower()).strip("-").removesuffix("-i1")
