"""Is the person at the browser at this machine? Only then may a page open folders of it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


def why_not_local() -> str:
    """Return "" if the server answers this machine only and the page came straight from it, else why not."""
    return refusal(str(st.get_option("server.address") or ""), request_headers())


def request_headers() -> Mapping[str, str]:
    """Return the headers of the request that the session began with."""
    return st.context.headers.to_dict()


def refusal(address: str, headers: Mapping[str, str]) -> str:
    """Return why folders must not be opened for a request with these headers to a server at this address, or ""."""
    sent = {name.lower(): value for name, value in headers.items()}
    if address not in _LOOPBACK:
        return (
            "Folders of this machine cannot be opened here: the server also answers other machines. "
            "Start it with server.address = 127.0.0.1."
        )
    host = sent.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name not in _LOOPBACK or any(header in sent for header in _FORWARDED):
        return (
            "Folders of this machine cannot be opened here: the page came by another name or through another server. "
            "Open it as http://127.0.0.1 with the port, on the machine itself."
        )
    return ""
