"""Access control of the page: a proxy in front of viser that checks the host name, the origin and the token.

viser itself listens at an address of this machine only, at a port the system chooses. Everything comes through here:

- the name in the request must be one the page is served under, and a request that says which site it comes from must
  come from the page itself: another web page that is open in the same browser cannot reach the twin;
- where a token is set, a browser shows it once in the address (``/?token=...``) and has it as a cookie from then on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import threading
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

MAX_HEAD_BYTES = 64 * 1024
CHUNK = 256 * 1024
LOCAL_HOSTS = {"127.0.0.1", "localhost", "::1"}
"""Addresses that only this machine reaches."""
COOKIE, SEE_OTHER = "thenar_token", "303 See Other"


class AccessProxy:
    """Listens at the public address and passes allowed connections on."""

    def __init__(self, *, host: str, port: int, token: str):
        """Bind the address; nothing is passed on before `open`.

        Args:
            host: Address to listen at.
            port: Port to listen at; 0 lets the system choose.
            token: What browsers must show; empty: nothing.
        """
        self.clients = 0
        """How many browsers are connected now."""
        self.refused = 0
        """How many requests were not let through."""
        self._names = LOCAL_HOSTS if host in LOCAL_HOSTS else None
        self._token, self._inner = token, 0
        self._loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._loop.run_forever, name="access proxy", daemon=True)
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, host, port, limit=MAX_HEAD_BYTES)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]

    def open(self, inner_port: int) -> None:
        """Pass connections on to the port at which viser listens on this machine."""
        self._inner = inner_port
        self.thread.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_writer = None
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), timeout=10.0)
            answer = check_request(head, names=self._names, token=self._token)
            if answer is not None:
                self.refused += SEE_OTHER.encode() not in answer[:32]
                writer.write(answer)
                await writer.drain()
                return
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._inner)
            inner_writer.write(head)
            websocket = int(b"\r\nupgrade: websocket" in head.lower())
            self.clients += websocket
            try:
                await asyncio.gather(_forward(reader, inner_writer), _forward(inner_reader, writer))
            finally:
                self.clients -= websocket
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # a browser that went away
        finally:
            for each in (writer, inner_writer):
                if each is not None:
                    with contextlib.suppress(OSError):
                        each.close()


def check_request(head: bytes, *, names: set[str] | None, token: str) -> bytes | None:
    """The response that refuses or redirects a request by its head; None lets it through.

    Args:
        head: Request line and headers.
        names: Host names the page is served under; None: any.
        token: What browsers must show; empty: nothing.
    """
    lines = head.decode("latin-1").split("\r\n")
    target = lines[0].split(" ")[1] if lines[0].count(" ") >= 2 else "/"
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    host, origin = headers.get("host", ""), headers.get("origin")
    try:
        name, query = urlsplit(f"//{host}").hostname, urlsplit(target).query
        site = host if origin is None else urlsplit(origin).netloc  # of "null" nothing: a frame that hides its site
    except ValueError:  # such as brackets that do not close
        return _response("400 Bad Request", "This is not an address.")
    if names is not None and name not in names:
        return _response("403 Forbidden", f"This page is not served under the name {host!r}.")
    if site != host:
        return _response("403 Forbidden", "Only the page itself may talk to the twin.")
    if not token:
        return None
    shown = parse_qs(query).get("token", [""])[0]
    if shown and hmac.compare_digest(shown.encode(), token.encode()):
        if headers.get("upgrade", "").lower() == "websocket":
            return None
        # From now on the browser shows it by itself, and it no longer stands in the address.
        cookie = f"Set-Cookie: {COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
        return _response(SEE_OTHER, "", cookie, "Location: /")
    try:
        cookie_token = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        cookie_token = None
    if cookie_token is not None and hmac.compare_digest(cookie_token.value.encode(), token.encode()):
        return None
    return _response(
        "401 Unauthorized", "This page needs a token: open the address that thenar printed, with ?token=..."
    )


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    finally:
        with contextlib.suppress(OSError):
            writer.close()


def _response(status: str, text: str, *extra: str) -> bytes:
    body = f"<!doctype html><title>thenar</title><p>{escape(text)}</p>".encode() if text else b""
    head = [f"HTTP/1.1 {status}", "Content-Type: text/html; charset=utf-8", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, *extra, "Connection: close", "", ""]).encode() + body
