"""SVG drawings made fit to stand in a page: its colours, no styles of their own, unique names, and words for those who can't see.

Styles become attributes, for the page's Content-Security-Policy allows only the one style sheet that the page brings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree

from config.findings import printable

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_NUMBER: Final = re.compile(r"-?\d+\.\d+")
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_NOT_NEEDED: Final = frozenset({"font-family", "stroke-linejoin"})
"""Of an element's style: the page says it for all."""
_DROPPED: Final = frozenset({f"{{{_SVG}}}{name}" for name in ("metadata", "style", "script")})
_WORDS: Final = frozenset({f"{{{_SVG}}}{name}" for name in ("text", "tspan", "title", "desc")})
_STYLES: Final = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)


def styles(svg: str) -> str:
    """The style sheets that a drawing brings: for the page's own, since `inline` leaves them out."""
    return "".join(_STYLES.findall(svg))


def inline(svg: str, key: str, title: str, text: str, colours: Mapping[str, str]) -> str:
    """The drawing as an element of a page. `key`: unique in the page. `colours`: by hex value, the role that it stands for."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - drawn by this program
    used = _references(root)
    _clean(root, key, used, colours)
    for child in [one for one in root if one.tag in (f"{{{_SVG}}}title", f"{{{_SVG}}}desc")]:
        root.remove(child)
    width, height = (root.attrib.get("viewBox") or "0 0 100 100").split()[2:]
    root.attrib = {
        "viewBox": f"0 0 {_short(width)} {_short(height)}",
        "role": "img",
        "aria-labelledby": f"{key}-t {key}-d",
        "class": " ".join(("chart", *root.attrib.get("class", "").split())),
    }
    described = [_element("title", f"{key}-t", title), _element("desc", f"{key}-d", text)]
    root[:0] = described
    ElementTree.register_namespace("", _SVG)
    found = ElementTree.tostring(root, encoding="unicode")
    return found.replace(f' xmlns="{_SVG}"', "", 1)


def _references(root: ElementTree.Element) -> set[str]:
    """Names that other elements refer to."""
    found = set()
    for one in root.iter():
        for name, value in one.attrib.items():
            found.update(_REFERENCE.findall(value))
            if name in (_LINK, "href"):
                found.add(value.removeprefix("#"))
    return found


def _clean(element: ElementTree.Element, key: str, used: set[str], colours: Mapping[str, str]) -> None:
    for child in [one for one in element if one.tag in _DROPPED]:
        element.remove(child)
    attributes = {name: value for name, value in element.attrib.items() if name != "style"}
    for declaration in element.attrib.get("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() and name.strip() not in _NOT_NEEDED:
            attributes[name.strip()] = value.strip()
    if attributes.get("id") not in used:
        attributes.pop("id", None)
    if _LINK in attributes:
        attributes["href"] = attributes.pop(_LINK)
    element.attrib = {name: _value(name, value, key, colours) for name, value in attributes.items() if not _idle(name, value)}
    element.text = element.text if element.tag in _WORDS else (element.text or "").strip()
    element.tail = None
    for child in element:
        _clean(child, key, used, colours)


def _idle(name: str, value: str) -> bool:
    """Attributes that say nothing."""
    return name == "transform" and value.startswith("rotate(-0 ")


def _value(name: str, value: str, key: str, colours: Mapping[str, str]) -> str:
    if name in ("fill", "stroke") and value in colours:
        return f"var(--{colours[value]})"
    if name == "id":
        return f"{key}-{value}"
    if name == "href":
        return f"#{key}-{value.removeprefix('#')}"
    value = _REFERENCE.sub(rf"url(#{key}-\1)", value)
    return _NUMBER.sub(lambda found: _short(found[0]), value).replace("\n", "") if name != "fill" else value


def _short(number: str) -> str:
    return f"{float(number):.1f}".removesuffix(".0")


def _element(tag: str, name: str, text: str) -> ElementTree.Element:
    found = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": name})
    found.text = printable(text)
    return found
