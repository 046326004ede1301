"""What a file is by its content: a wrong suffix is found out, a text that only begins like a binary stays one."""

from __future__ import annotations

import io
import re
import zipfile

from autocontext.errors import LoadError
from autocontext.loaders.encoding import decode

OLD_OFFICE = "an old Office file"
# (offset, bytes, what to call it). A signature of printable letters alone never makes a file a binary.
_SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (0, b"\xff\xd8\xff", "a JPEG picture"),
    (0, b"GIF8", "a GIF picture"),
    (0, b"BM", "a BMP picture"),
    (0, b"II*\0", "a TIFF picture"),
    (0, b"MM\0*", "a TIFF picture"),
    (0, b"\0\0\1\0", "an icon"),
    (0, b"8BPS", "a Photoshop picture"),
    (8, b"WEBP", "a WebP picture"),
    (8, b"WAVE", "a sound"),
    (8, b"AVI ", "a film"),
    (0, b"ID3", "a sound"),
    (0, b"\xff\xfb", "a sound"),
    (0, b"fLaC", "a sound"),
    (0, b"OggS", "a sound or film"),
    (4, b"ftypheic", "a HEIC picture"),
    (4, b"ftypavif", "an AVIF picture"),
    (4, b"ftyp", "a film or sound"),
    (0, b"\x1aE\xdf\xa3", "a film"),
    (0, b"PK\3\4", "a zip archive"),
    (0, b"PK\5\6", "an empty zip archive"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ\0", "an xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\7", "a RAR archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLD_OFFICE),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a program"),
    (0, b"\xca\xfe\xba\xbe", "a program"),
    (0, b"\xcf\xfa\xed\xfe", "a program"),
    (0, b"dex\n", "a program"),
    (0, b"\0asm", "a program"),
    (0, b"SQLite format 3\0", "a database"),
    (0, b"PAR1", "a Parquet table"),
    (0, b"\x80\4\x95", "a pickle"),
    (0, b"\0\1\0\0", "a font"),
    (0, b"OTTO", "a font"),
    (0, b"wOF", "a font"),
)
_OPEN_DOCUMENT = {b"text": ".odt", b"spreadsheet": ".ods", b"presentation": ".odp"}
_OFFICE_FOLDERS = (("word/", ".docx"), ("xl/", ".xlsx"), ("ppt/", ".pptx"))
_HEAD = 8192


def true_suffix(data: bytes) -> str | None:
    """Return the suffix of the kind that `data` surely is, where its content tells; None where it does not."""
    head = data[:_HEAD]
    if head.startswith(b"PK\3\4"):
        return _zip_kind(data)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"%PDF-") and re.search(rb"\bendobj\b|\bstartxref\b", data):
        return ".pdf"
    if re.match(rb"\{\\rtf\d?\s*[\\{]", start):
        return ".rtf"
    return None


def page_suffix(data: bytes) -> str | None:
    """Return ``".html"`` or ``".mhtml"`` if a file without a telling name is a web page, else None."""
    start = data[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", start, re.I | re.S):
        return ".html"
    if re.match(rb"(?:[\w-]+:[^\n]*\n(?:[ \t][^\n]*\n)*){1,20}?content-type:\s*multipart/related", start, re.I):
        return ".mhtml"
    return None


def binary_kind(data: bytes) -> str | None:
    """Return what a file that is no text seems to be, for example ``"a PNG picture"``; None if it has no signature."""
    for offset, signature, kind in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature and (
            not signature.decode("latin-1").strip().isprintable() or _has_controls(data[:_HEAD])
        ):
            return kind
    return None


def is_locked_office(data: bytes) -> bool:
    """Tell whether an old-style container holds a new Office file behind a password."""
    return "EncryptedPackage".encode("utf-16-le") in data


def is_plain_text(data: bytes) -> bool:
    """Tell whether `data` is UTF-8 without control characters."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(data.strip()) and not _has_controls(data[:_HEAD])


def seems_text(data: bytes) -> bool:
    """Tell whether `data` can be decoded as a text in some encoding."""
    try:
        decode("", data[: _HEAD * 8])
    except LoadError:
        return False
    return True


def _zip_kind(data: bytes) -> str | None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = package.namelist()
            if "mimetype" in names and package.getinfo("mimetype").file_size < 200:
                kind = package.read("mimetype").strip()
                if kind == b"application/epub+zip":
                    return ".epub"
                for end, suffix in _OPEN_DOCUMENT.items():
                    if kind.startswith(b"application/vnd.oasis.opendocument." + end):
                        return suffix
    except Exception:  # noqa: BLE001 a damaged archive raises many kinds of errors; its loader tells the user
        return None
    if "[Content_Types].xml" in names:
        for folder, suffix in _OFFICE_FOLDERS:
            if any(name.startswith(folder) for name in names):
                return suffix
    return ".epub" if "META-INF/container.xml" in names else ".zip"


def _has_controls(head: bytes) -> bool:
    return len(re.findall(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head)) > len(head) // 500
