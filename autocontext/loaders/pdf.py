"""PDF files, page by page, through pypdf."""

from __future__ import annotations

import io

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.base import clean_text, content_hash, unsafe_note

SUFFIXES = (".pdf",)


def load(name: str, data: bytes) -> Document:
    """Extract the text of every page; a page that ends within a sentence is joined to the next by a plain line end.

    Raises
    ------
    LoadError
        If the file is damaged, needs a password or holds no text.
    """
    pages, broken = _page_texts(name, data)
    pieces: list[str] = []
    starts: list[int] = []
    offset = unsafe = 0
    for page in pages:
        text, count = clean_text(page)
        text, unsafe = text.strip(), unsafe + count
        if pieces:
            joint = "\n" if text[:1].islower() else "\n\n"
            pieces.append(joint)
            offset += len(joint)
        starts.append(offset)
        pieces.append(text)
        offset += len(text)
    empty = sum(1 for page in pages if not page.strip()) - broken
    if broken == len(pages):
        raise LoadError(name, "no page can be read; open it in a viewer and save it again")
    if empty + broken == len(pages):
        raise LoadError(name, "no text found (scanned pages?); run it through an OCR program first")
    notes = [*unsafe_note(unsafe)]
    if empty:
        notes.insert(0, f"{empty} of {len(pages)} pages hold no text.")
    if broken:
        notes.insert(0, f"{broken} of {len(pages)} pages could not be read.")
    return Document(
        name=name, text="".join(pieces), content_hash=content_hash(data), page_starts=tuple(starts), notes=tuple(notes)
    )


def _page_texts(name: str, data: bytes) -> tuple[list[str], int]:
    import logging

    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about every small fault of a file
    if not data:
        raise LoadError(name, "the file is empty")
    try:
        reader = PdfReader(io.BytesIO(data))
        pages = list(reader.pages)
    except FileNotDecryptedError:
        raise LoadError(name, "it needs a password; save a copy without one") from None
    except DependencyError:
        raise LoadError(
            name, "it is encrypted; install the cryptography package: pip install 'pypdf[crypto]'"
        ) from None
    except Exception as error:  # a damaged file breaks pypdf in many ways
        raise LoadError(name, "it is damaged or not a PDF; open it in a viewer and save it again") from error
    texts: list[str] = []
    broken = 0
    for page in pages:
        try:
            texts.append(page.extract_text())
        except Exception:  # noqa: BLE001 one bad page costs that page
            texts.append("")
            broken += 1
    return texts, broken
