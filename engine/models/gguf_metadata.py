"""The metadata of a GGUF file: keys and values in, a dictionary of plain values out.

Long arrays and texts in arrays are passed over; their type, length and place are kept. llama.cpp refuses
arrays in arrays, so they are refused here, and nothing recurses. What the keys mean is not known here,
but for `general.alignment`, whose type the format itself prescribes.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from engine.models.byte_reader import ByteReader, shown

ALIGNMENT_KEY = "general.alignment"
MAX_KEY_BYTES = 65_535  # the specification's own bound
MAX_KEPT_ITEMS = 1_024  # one number a layer: llama.cpp takes 512 layers

_TYPE = struct.Struct("<I")
_TYPE_AND_COUNT = struct.Struct("<IQ")


class ValueType(enum.IntEnum):
    """The types of metadata values, numbered as in the file."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_LAYOUTS = {
    ValueType.UINT8: struct.Struct("<B"),
    ValueType.INT8: struct.Struct("<b"),
    ValueType.UINT16: struct.Struct("<H"),
    ValueType.INT16: struct.Struct("<h"),
    ValueType.UINT32: struct.Struct("<I"),
    ValueType.INT32: struct.Struct("<i"),
    ValueType.FLOAT32: struct.Struct("<f"),
    ValueType.BOOL: struct.Struct("<?"),
    ValueType.UINT64: struct.Struct("<Q"),
    ValueType.INT64: struct.Struct("<q"),
    ValueType.FLOAT64: struct.Struct("<d"),
}


Scalar = str | int | float | bool | bytes


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array of `count` items of `item_type`, from byte `offset` of the file.

    `content`: the bytes of a short array of numbers; None if the array was passed over.
    """

    item_type: ValueType
    count: int
    offset: int
    content: bytes | None = None

    @property
    def items(self) -> tuple[Scalar, ...] | None:
        """The numbers of a short array; None if it was passed over."""
        if self.content is None:
            return None
        return tuple(item[0] for item in _LAYOUTS[self.item_type].iter_unpack(self.content))


Value = Scalar | ArrayValue


def read_metadata(reader: ByteReader, n_entries: int) -> dict[str, Value]:
    """Read `n_entries` keys and values. Text that is not UTF-8 stays bytes; keys must be UTF-8.

    Raises ModelFileError for an empty, repeated or unreadable key and for a value out of bounds.
    """
    metadata: dict[str, Value] = {}
    for _ in range(n_entries):
        key = reader.name("a metadata key", MAX_KEY_BYTES)
        if not key:
            raise reader.damaged("a metadata key is empty")
        if key in metadata:
            raise reader.damaged(f"the metadata key {shown(key)} is there twice")
        metadata[key] = _read_value(reader, key)
    return metadata


def read_items(reader: ByteReader, array: ArrayValue) -> Iterator[Scalar]:
    """The items of `array`, from a reader at the file's start."""
    reader.skip(array.offset)
    for _ in range(array.count):
        yield _read_scalar(reader, array.item_type, "an array item")


def _read_value(reader: ByteReader, key: str) -> Value:
    value_type = _value_type(reader, key, reader.unpack(_TYPE)[0])
    if key == ALIGNMENT_KEY and value_type is not ValueType.UINT32:
        raise reader.damaged("its alignment is not stored as a uint32")
    if value_type is ValueType.ARRAY:
        return _read_array(reader, key)
    return _read_scalar(reader, value_type, f"the value of {shown(key)}")


def _value_type(reader: ByteReader, key: str, number: int) -> ValueType:
    try:
        return ValueType(number)
    except ValueError:
        raise reader.damaged(f"the value of {shown(key)} has the unknown type {number:,}") from None


def _read_scalar(reader: ByteReader, value_type: ValueType, what: str) -> Scalar:
    if value_type is not ValueType.STRING:
        value: Scalar = reader.unpack(_LAYOUTS[value_type])[0]
        return value
    raw = reader.text(what)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _read_array(reader: ByteReader, key: str) -> ArrayValue:
    number, count = reader.unpack(_TYPE_AND_COUNT)
    item_type = _value_type(reader, key, number)
    if item_type is ValueType.ARRAY:
        raise reader.damaged(f"the value of {shown(key)} is an array of arrays, which no model has")
    item_size = 8 if item_type is ValueType.STRING else _LAYOUTS[item_type].size
    reader.count_items(f"the value of {shown(key)}", count, item_size)
    offset = reader.position
    if item_type is not ValueType.STRING and count <= MAX_KEPT_ITEMS:
        content = reader.content(f"the value of {shown(key)}", count * item_size)
        return ArrayValue(item_type, count, offset, content)
    if item_type is ValueType.STRING:
        reader.skip_texts(count)
    else:
        reader.skip(count * item_size)
    return ArrayValue(item_type, count, offset)
