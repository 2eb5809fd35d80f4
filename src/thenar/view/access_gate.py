"""Access control of the page: every request is judged in viser's own server, before viser sees it.

There is one listening socket and one server behind it, so there is no way around the gate:

- the name in the request must be one the page is served under, and a request that says which site it comes from must
  come from the page itself: another web page that is open in the same browser cannot reach the twin;
- a browser shows the token once in the address (``/?token=...``) and has it as a cookie from then on;
- each connection carries one request, or one web socket.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

ALWAYS = {"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Connection": "close"}
"""Headers of every answer: no other page may frame this one and let visitors click on it unawares."""


class AccessGate:
    """Judges requests, and counts who is connected and who was refused."""

    def __init__(self, *, names: Collection[str] | None, token: str, secure: bool):
        """Set what is let in.

        Args:
            names: Host names that the page is served under; None: any.
            token: What browsers must show.
            secure: Whether it is served over TLS, so that the cookie must not travel without.
        """
        self.clients = 0
        """How many browsers are connected now."""
        self.refused = 0
        """How many requests were not let through."""
        self.once = secrets.token_urlsafe(16)
        """Is taken for the token one time: for the command line of a browser, which other users of the machine see."""
        self._names, self._token, self._secure = names, token, secure

    def check(self, request: Request) -> Response | None:
        """The answer that refuses or redirects a request; None lets it through."""
        try:
            host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
            asked, query = urlsplit(f"//{host}"), parse_qs(urlsplit(request.path).query)
            name, port = asked.hostname, asked.port or 0
            site = host if origin is None else urlsplit(origin).netloc  # of "null" nothing: a frame that hides its site
            cookies = SimpleCookie(request.headers.get("Cookie", ""))
            upgrade = request.headers.get("Upgrade", "").lower()
        except (ValueError, MultipleValuesError, CookieError):  # such as brackets that do not close
            return self._refuse(HTTPStatus.BAD_REQUEST, "This is not an address.")
        if self._names is not None and name not in self._names:
            return self._refuse(HTTPStatus.FORBIDDEN, f"This page is not served under the name {host!r}.")
        if site != host:
            return self._refuse(HTTPStatus.FORBIDDEN, "Only the page itself may talk to the twin.")
        cookie = f"thenar_token_{port}"  # browsers share cookies among the ports of a host, and so do tunnels
        if self._is_token(query.get("token", [""])[0]):
            if upgrade == "websocket":
                return None
            # From now on the browser shows it by itself, and it no longer stands in the address.
            kept = f"{cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/{'; Secure' * self._secure}"
            return _response(HTTPStatus.SEE_OTHER, "", {"Set-Cookie": kept, "Location": "/"})
        if cookie in cookies and _equal(cookies[cookie].value, self._token):
            return None
        text = "This page needs a token: open the address that thenar printed, with ?token=..."
        return self._refuse(HTTPStatus.UNAUTHORIZED, text)

    def _is_token(self, shown: str) -> bool:
        if self.once and _equal(shown, self.once):
            self.once = ""
            return True
        return _equal(shown, self._token)

    def _refuse(self, status: HTTPStatus, text: str) -> Response:
        self.refused += 1
        return _response(status, text)


def _is_no_visit(record: logging.LogRecord) -> bool:
    """False for a visitor that hung up in the middle of a request or sent none: no reason for a traceback each."""
    return not record.getMessage().startswith("opening handshake failed")


class PageServer(viser.ViserServer):
    """viser behind a gate, on a socket that is already bound."""

    def __init__(self, gate: AccessGate, listener: socket.socket, tls: ssl.SSLContext | None):
        """Begin to answer."""
        logging.getLogger("websockets.server").addFilter(_is_no_visit)
        with _behind(gate, listener, tls) as threads:
            super().__init__(host="127.0.0.1", port=listener.getsockname()[1], label="thenar", verbose=False)
        if not threads:  # viser serves by other means than it used to: better no page than one without a gate
            raise RuntimeError(f"viser {viser.__version__} did not take the page's gate")
        self._thread = threads[0]

    @property
    def serving(self) -> bool:
        """Whether it still answers."""
        return self._thread.is_alive()

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Nothing: viser would open a tunnel through a server on the internet, whoever asks."""
        return None


@contextmanager
def _behind(gate: AccessGate, listener: socket.socket, tls: ssl.SSLContext | None) -> Iterator[list[threading.Thread]]:
    """What websockets begins to serve meanwhile is served behind the gate; the list gets the threads that do."""
    plain, threads = websockets.asyncio.server.serve, list[threading.Thread]()

    def serve(
        handler: Callable[[ServerConnection], Awaitable[None]],
        host: str,
        port: int,
        *,
        process_request: Callable[[ServerConnection, Request], Response | None],
        **options: Any,
    ) -> websockets.asyncio.server.serve:
        async def count(connection: ServerConnection) -> None:
            gate.clients += 1
            try:
                await handler(connection)
            finally:
                gate.clients -= 1

        def check(connection: ServerConnection, request: Request) -> Response | None:
            response = gate.check(request) or process_request(connection, request)
            if response is not None:
                response.headers.update(ALWAYS)
            return response

        threads.append(threading.current_thread())
        return plain(count, sock=listener, ssl=tls, process_request=check, **options)

    websockets.asyncio.server.serve = serve  # viser has no door for this; the page's process has no other server
    try:
        yield threads
    finally:
        websockets.asyncio.server.serve = plain


def _equal(shown: str, secret: str) -> bool:
    return hmac.compare_digest(shown.encode(errors="surrogateescape"), secret.encode())


def _response(status: HTTPStatus, text: str, extra: dict[str, str] | None = None) -> Response:
    body = f"<!doctype html><title>thenar</title><p>{escape(text)}</p>".encode() if text else b""
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), **(extra or {})}
    return Response(status.value, status.phrase, Headers(headers), body)
