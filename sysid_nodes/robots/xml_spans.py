# SPDX-License-Identifier: Apache-2.0
"""Places of an XML file's elements in its bytes, so that one can be replaced and every other byte kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from sysid_nodes.exceptions import RobotError


@dataclass
class Element:
    """An element and its place in the file.

    Attributes:
        attributes: by name.
        start: offset of its first `<`.
        open_end: offset behind the `>` of its start tag.
        end: offset behind its last `>`.
        parent: the element around it.
        children: the elements directly in it.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    open_end: int
    end: int = -1
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)

    def children_named(self, tag: str) -> list[Element]:
        """Direct children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first_child(self, tag: str) -> Element | None:
        """First direct child with a tag."""
        return next(iter(self.children_named(tag)), None)

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the file's order."""
        yield self
        for child in self.children:
            yield from child.walk()


def parse_spans(data: bytes) -> Element:
    """The root element of an XML file.

    Raises:
        RobotError: the bytes are not well-formed XML, are UTF-16, or elements come from entities, so that they have no
            place of their own in the file.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RobotError("UTF-16 files are not supported; save it as UTF-8")
    parser = expat.ParserCreate()
    root: list[Element] = []
    path: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        offset = parser.CurrentByteIndex
        if not data.startswith(b"<" + tag.encode(), offset):
            raise RobotError(f"element <{tag}> comes from an XML entity; expand the entities first")
        element = Element(tag, attributes, offset, _tag_end(data, offset), parent=path[-1] if path else None)
        (path[-1].children if path else root).append(element)
        path.append(element)

    def end(_: str) -> None:
        element = path.pop()
        if data[element.open_end - 2 : element.open_end] == b"/>":
            element.end = element.open_end
        else:
            element.end = _tag_end(data, parser.CurrentByteIndex)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise RobotError(f"not valid XML: {error}") from None
    return root[0]


def replace_child(data: bytes, parent: Element, tag: str, attributes: str, lines: tuple[str, ...]) -> bytes:
    """Replaces the first child with a tag, or adds one as the parent's first, in the indentation of its neighbours.

    Args:
        parent: from `parse_spans` of the same bytes.
        attributes: text of the child's attributes, or empty.
        lines: one empty element each, to stand in the child; none makes the child an empty element itself.
    """
    newline = "\r\n" if b"\r\n" in data else "\n"
    old = parent.first_child(tag)
    base = _indent(data, parent.start)
    sibling = _indent(data, parent.children[0].start) if parent.children else ""
    inner = _indent(data, old.start) if old else (sibling if len(sibling) > len(base) else base + "  ")
    step = inner[len(base) :] if inner.startswith(base) and len(inner) > len(base) else "  "
    opening = f"<{tag} {attributes}" if attributes else f"<{tag}"
    if lines:
        text = newline.join([f"{opening}>", *(f"{inner}{step}{line}" for line in lines), f"{inner}</{tag}>"])
    else:
        text = f"{opening}/>"
    if old:
        return data[: old.start] + text.encode() + data[old.end :]
    start_tag = data[parent.start : parent.open_end]
    if not start_tag.endswith(b"/>"):
        return data[: parent.open_end] + f"{newline}{inner}{text}".encode() + data[parent.open_end :]
    opened = start_tag[:-2].rstrip() + f">{newline}{inner}{text}{newline}{base}</{parent.tag}>".encode()
    return data[: parent.start] + opened + data[parent.open_end :]


def set_attributes(data: bytes, element: Element, values: Mapping[str, str]) -> bytes:
    """Gives an element attributes; those that it has get the new value where they stand, others go behind them."""
    tag = data[element.start : element.open_end]
    for name, value in values.items():
        written = f'{name}="{value}"'.encode()
        old = re.search(rb"(?<=[\s])" + re.escape(name.encode()) + rb"\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
        if old:
            tag = tag[: old.start()] + written + tag[old.end() :]
        else:
            end = len(tag) - (2 if tag.endswith(b"/>") else 1)
            tag = tag[:end].rstrip() + b" " + written + tag[end:]
    return data[: element.start] + tag + data[element.open_end :]


def append_child(data: bytes, parent: Element, text: str) -> bytes:
    """Adds one empty element as the parent's last, in the indentation of its neighbours."""
    newline = "\r\n" if b"\r\n" in data else "\n"
    base = _indent(data, parent.start)
    inner = _indent(data, parent.children[-1].start) if parent.children else ""
    inner = inner if len(inner) > len(base) else base + "  "
    start_tag = data[parent.start : parent.open_end]
    if start_tag.endswith(b"/>"):
        opened = start_tag[:-2].rstrip() + f">{newline}{inner}{text}{newline}{base}</{parent.tag}>".encode()
        return data[: parent.start] + opened + data[parent.open_end :]
    at = parent.children[-1].end if parent.children else parent.open_end
    return data[:at] + f"{newline}{inner}{text}".encode() + data[at:]


def comment_before(data: bytes, element: Element, text: str) -> bytes:
    """Puts a comment on a line of its own before an element; two hyphens in it, which XML forbids, become one."""
    newline = "\r\n" if b"\r\n" in data else "\n"
    while "--" in text:
        text = text.replace("--", "-")
    line = f"<!-- {text} -->{newline}{_indent(data, element.start)}"
    return data[: element.start] + line.encode() + data[element.start :]


def _tag_end(data: bytes, offset: int) -> int:
    """Offset behind the `>` that ends the tag at an offset; a `>` in quotes belongs to an attribute."""
    quote = b""
    while True:
        offset += 1
        char = data[offset : offset + 1]
        if quote:
            quote = b"" if char == quote else quote
        elif char in (b'"', b"'"):
            quote = char
        elif char == b">":
            return offset + 1


def _indent(data: bytes, offset: int) -> str:
    """White space at the beginning of the line of an element, if there is nothing else before the element."""
    line = data[data.rfind(b"\n", 0, offset) + 1 : offset]
    return line.decode() if not line.strip(b" \t") else ""
