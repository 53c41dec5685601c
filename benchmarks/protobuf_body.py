# SPDX-License-Identifier: Apache-2.0
"""Objects as clients write them in protobuf, by the field numbers of src/engine/data/protobuf.fields."""

import pathlib
import re

FIELDS = pathlib.Path(__file__).resolve().parent.parent / "src/engine/data/protobuf.fields"


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def integer(number, value):
    return varint(number << 3) + varint(value)


def part(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


class Messages:
    """The messages of core/v1 and those they are made of. Texts of times are not known."""

    def __init__(self):
        self.messages, package = {}, ""
        for line in FIELDS.read_text(encoding="utf-8").splitlines():
            if line.startswith("@"):
                package = line[1:]
            elif line and not line.startswith("#"):
                name, *fields = line.split()
                self.messages.setdefault(f"{package}.{name}", []).extend(self.field(package, text) for text in fields)

    @staticmethod
    def field(package, text):
        name, number, mode, kind = re.fullmatch(r"([^=]+)=(\d+)([?*%^]?)(\S+)", text).groups()
        return int(number), name, mode, kind if len(kind) == 1 or "." in kind else f"{package}.{kind}"

    def message(self, kind, value):
        """Fields that are no pointers are written even if they are empty, as by Go."""
        if kind.endswith(".Quantity"):
            return part(1, value.encode())
        if kind.endswith(".IntOrString"):
            return integer(1, 0) + integer(2, value) + part(3, b"")
        if kind.endswith(".Time"):
            return b""  # none is set
        out = b""
        for number, name, mode, of in sorted(self.messages.get(kind, [])):
            if mode == "^":
                out += part(number, self.message(of, value))
            elif name in value or mode == "":
                out += self.one(number, mode, of, value.get(name))
        return out

    def one(self, number, mode, kind, value):
        if mode == "*":
            return b"".join(self.one(number, "", kind, element) for element in value)
        if mode == "%":
            return b"".join(part(number, part(1, key.encode()) + self.one(2, "", kind, entry)) for key, entry in sorted(value.items()))
        if kind in ("i", "t"):
            return integer(number, int(value or 0))
        if kind == "s":
            return part(number, (value or "").encode())
        return part(number, self.message(kind, value or {}))


MESSAGES = Messages()


def protobuf_body(obj):
    content = MESSAGES.message(f"api.core.v1.{obj['kind']}", obj)
    head = part(1, obj["apiVersion"].encode()) + part(2, obj["kind"].encode())
    return b"k8s\0" + part(1, head) + part(2, content) + part(3, b"") + part(4, b"")
