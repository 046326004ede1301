"""Mail: single messages (.eml), boxes of many (.mbox), and web pages saved as one (.mhtml)."""

from __future__ import annotations

import binascii
import codecs
import quopri
import re
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from itertools import pairwise

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.build import Builder
from autocontext.loaders.encoding import decode
from autocontext.loaders.html_page import add_page, declared_encoding
from autocontext.loaders.outline import one_line

SUFFIXES = (".eml", ".mbox", ".mht", ".mhtml", ".emlx")

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_DEEPEST = 5
_MAIL_START = re.compile(rb"(?:^|(?<=\n))From [^\n]*\d{4}[^\n]*\r?\n(?=[!-9;-~]+:|>?From )")
_ENCODED = re.compile(r"=\?([^?\s]+)\?([bBqQ])\?([^?]*)\?=")
_NO_MAIL = "it is damaged or not a mail"


def load(name: str, data: bytes) -> Document:
    """Read subject, people, date, body and the names of attachments; attached texts are read, too.

    Raises
    ------
    LoadError
        If it is no mail.
    """
    build = Builder(name)
    # Apple's .emlx has the length of the mail in front of it.
    mails = data.partition(b"\n")[2] if name.lower().endswith(".emlx") else data
    starts = [match.start() for match in _MAIL_START.finditer(mails)]
    if starts and not mails[: starts[0]].strip():
        for number, (start, end) in enumerate(pairwise([*starts, len(mails)]), start=1):
            body = mails[start:end].partition(b"\n")[2]
            _add_mail(build, _parsed(name, re.sub(rb"(?m)^>(>*From )", rb"\1", body)), f"mail {number}", 0)
        return build.document(data)
    message = _parsed(name, mails)
    if not any(_header(message, key) for key in ("From", "Subject", "Date", "MIME-Version")):
        raise LoadError(name, _NO_MAIL)
    if name.lower().endswith((".mht", ".mhtml")) or message.get_content_type() == "multipart/related":
        page = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
        if page is not None and not _header(message, "To"):
            _add_html(build, page, titled=True)
            return build.document(data)
    _add_mail(build, message, "mail", 0)
    return build.document(data)


def _parsed(name: str, data: bytes) -> Message:
    try:
        return BytesParser().parsebytes(data)
    except Exception as error:  # the parser breaks on some damaged messages
        raise LoadError(name, _NO_MAIL) from error


def _add_mail(build: Builder, message: Message, label: str, depth: int) -> None:
    """Add one mail; one that is attached to another comes as a part of that."""
    headers = {key: words for key in _SHOWN if (words := _header(message, key))}
    date = _day(headers.get("Date", ""))
    build.place(f"{label} of {date}" if date else label, within=depth > 0)
    build.heading(1 + depth, headers.get("Subject", ""), shown=False)
    build.add("\n".join(f"{key}: {words}" for key, words in headers.items()))
    attached: list[Message] = []
    _add_part(build, message, attached, depth)
    names = [one_line(_file_name(part), 200) for part in attached]
    if names:
        build.add(f"Attachments: {', '.join(names)}")
    for part, file in zip(attached, names, strict=True):
        if part.get_content_type() == "message/rfc822" and depth < _DEEPEST:
            for inner in _parts(part):
                _add_mail(build, inner, f"{label}, attached mail", depth + 1)
        else:
            _add_attachment(build, part, file, label)


def _add_attachment(build: Builder, part: Message, file: str, label: str) -> None:
    """Add the text of an attached file as if it came alone; what cannot be read is told, but for pictures."""
    from autocontext.loaders import load

    try:
        attached = load(file, _bytes(part))
    except LoadError as error:
        if part.get_content_maintype() != "image":
            build.notes.append(f"The attachment {file} is not read: {error.reason}.")
        return
    build.place(f"{label}, {file}", within=True)
    build.add(attached.text)


def _add_part(build: Builder, part: Message, attached: list[Message], depth: int) -> None:
    kind = part.get_content_type()
    if part.get_content_disposition() == "attachment" or kind == "message/rfc822":
        attached.append(part)
    elif kind == "multipart/alternative":
        _add_part(build, _best(part), attached, depth + 1)
    elif part.is_multipart():
        for inner in _parts(part):
            _add_part(build, inner, attached, depth + 1)
    elif kind == "text/html":
        _add_html(build, part)
    elif kind in ("text/plain", "text/enriched"):
        text = _text(build.name, part)
        if part.get_param("format") == "flowed":
            text = re.sub(r" \n(?![>\s]|-- ?\n)", " ", text)
        build.add(text)
    elif part.get_filename():
        attached.append(part)


def _best(part: Message) -> Message:
    """Return the plain form of a mail that comes in several, else the last, which should be the richest."""
    forms = _parts(part)
    plain = (form for form in forms if form.get_content_type() == "text/plain" and _bytes(form).strip())
    return next(plain, forms[-1] if forms else Message())


def _parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [inner for inner in payload if isinstance(inner, Message)] if isinstance(payload, list) else []


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(name: str, part: Message) -> str:
    data = _bytes(part)
    try:
        return decode(name, data, declared=_charset(part)).text if data else ""
    except LoadError:  # a binary that calls itself a text
        return ""


def _add_html(build: Builder, part: Message, *, titled: bool = False) -> None:
    data = _bytes(part)
    if data:
        html = decode(build.name, data, declared=_charset(part) or declared_encoding(data)).text
        add_page(build, html, titled=titled)


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError):
        return None


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename()
    except (LookupError, ValueError):
        name = None
    return _words(name) if name else part.get_content_type()


def _header(message: Message, key: str) -> str:
    """Return a header's words, whatever form its letters come in; "" if there is none."""
    found = next((value for name, value in message.raw_items() if name.lower() == key.lower()), "")
    return one_line(_words(str(found)), 1000)


def _words(raw: str) -> str:
    data = raw.encode("utf-8", "surrogateescape")
    text = data.decode("utf-8") if _is_utf8(data) else decode("", data).text
    text = re.sub(r"(\?=)\s+(?==\?)", r"\1", text)  # blanks between encoded words are no part of them
    pieces: list[str] = []
    last = 0
    waiting: tuple[str, bytes] = ("", b"")
    for match in _ENCODED.finditer(text):
        charset = match.group(1).partition("*")[0].lower()
        if match.start() != last or charset != waiting[0]:  # a letter may be cut in two between encoded words
            pieces += (_decoded(*waiting), text[last : match.start()])
            waiting = (charset, b"")
        waiting = (charset, waiting[1] + _unpacked(match.group(2), match.group(3)))
        last = match.end()
    return "".join([*pieces, _decoded(*waiting), text[last:]])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unpacked(form: str, word: str) -> bytes:
    data = word.encode("ascii", "replace")
    if form in "qQ":
        return quopri.decodestring(data.replace(b"_", b" "), header=False)
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4)) or data
    except binascii.Error:
        return data


def _decoded(charset: str, data: bytes) -> str:
    try:
        return data.decode(codecs.lookup(charset or "utf-8").name, "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _day(date: str) -> str:
    try:
        return parsedate_to_datetime(date).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
