# SPDX-License-Identifier: Apache-2.0

"""CBOR as kube-apiserver writes and reads it, as far as comparing needs it. A decoded item is plain Python; byte strings stay bytes, tags
become Tag, so that what is on the wire can be told apart."""

import struct
from typing import NamedTuple

SELF_DESCRIBED = b"\xd9\xd9\xf7"


class Tag(NamedTuple):
    number: int
    content: object


def decode(data, at=0):
    """(item, where it ends)"""
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        if info in (25, 26, 27):
            size = {25: 2, 26: 4, 27: 8}[info]
            return struct.unpack({25: ">e", 26: ">f", 27: ">d"}[info], data[at:at + size])[0], at + size
        return {20: False, 21: True, 22: None}[info], at
    if info == 31:
        raise ValueError("indefinite length")
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(info, 0)
    number = int.from_bytes(data[at:at + size], "big") if size else info
    at += size
    if major in (0, 1):
        return (number if major == 0 else -1 - number), at
    if major in (2, 3):
        content = bytes(data[at:at + number])
        return (content if major == 2 else content.decode()), at + number
    if major == 6:
        content, at = decode(data, at)
        return Tag(number, content), at
    items = []
    for _ in range(number if major == 4 else 2 * number):
        item, at = decode(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at


def sequence(data):
    items, at = [], 0
    while at < len(data):
        item, at = decode(data, at)
        items.append(item)
    return items


def head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[size]]) + number.to_bytes(size, "big")


def encode(item):
    """str becomes a byte string, as Kubernetes' clients write it; floats take eight bytes."""
    if item is None or isinstance(item, bool):
        return {None: b"\xf6", False: b"\xf4", True: b"\xf5"}[item]
    if isinstance(item, int):
        return head(0, item) if item >= 0 else head(1, -1 - item)
    if isinstance(item, float):
        return b"\xfb" + struct.pack(">d", item)
    if isinstance(item, Tag):
        return head(6, item.number) + encode(item.content)
    if isinstance(item, (str, bytes)):
        content = item.encode() if isinstance(item, str) else item
        return head(2, len(content)) + content
    if isinstance(item, dict):
        return head(5, len(item)) + b"".join(encode(name) + encode(value) for name, value in item.items())
    return head(4, len(item)) + b"".join(map(encode, item))


def document(item):
    return SELF_DESCRIBED + encode(item)
