"""A real browser without a window: Debian's Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from patience import wait_for
from websockets.sync.client import ClientConnection, connect

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--disable-dev-shm-usage", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--hide-scrollbars", "--mute-audio", "--remote-debugging-port=0",
)  # fmt: skip


LOOK_S = 0.05
"""Time between two looks at the page: each one makes the browser lay it out."""


class Tab:
    """One page in the browser."""

    def __init__(self, address: str):
        """Connect to its DevTools."""
        self._line: ClientConnection = connect(address, max_size=None)
        self._numbers = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self.requested: list[str] = []
        """Address of everything it asked for."""
        self.said: list[str] = []
        """What it wrote on its console."""
        self.frames = 0
        """Messages that came over its web sockets."""
        self._sends = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")
        # Workers too: the page's web socket lives in one.
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def _listen(self) -> None:
        with contextlib.suppress(Exception):
            for text in self._line:
                message = json.loads(text)
                match message.get("method"):
                    case "Target.attachedToTarget":
                        for method in ("Network.enable", "Runtime.runIfWaitingForDebugger"):
                            self._send(method, session=message["params"]["sessionId"])
                    case "Network.requestWillBeSent":
                        self.requested.append(message["params"]["request"]["url"][:200])
                    case "Network.webSocketCreated":
                        self.requested.append(message["params"]["url"])
                    case "Network.webSocketFrameReceived":
                        self.frames += 1
                    case "Runtime.consoleAPICalled":
                        self.said.append(" ".join(str(a.get("value", "")) for a in message["params"]["args"]))
                    case "Runtime.exceptionThrown":
                        self.said.append(str(message["params"]["exceptionDetails"].get("text", "")))
                    case None:
                        self._answers[message["id"]] = message

    def _send(self, method: str, session: str = "", **params: Any) -> int:
        number = next(self._numbers)
        to = {"sessionId": session} if session else {}
        with self._sends:
            self._line.send(json.dumps({"id": number, "method": method, "params": params, **to}))
        return number

    def call(self, method: str, limit_s: float = 60.0, **params: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        number = self._send(method, **params)
        if not wait_for(lambda: number in self._answers, limit_s):
            raise TimeoutError(f"{method} did not answer")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def run(self, script: str) -> Any:
        """The value of a piece of JavaScript."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def go(self, url: str) -> None:
        """Open an address."""
        self.call("Page.navigate", url=url)

    def text(self) -> str:
        """Everything that can be read on the page."""
        return self.run("document.body ? document.body.innerText : ''") or ""

    def wait_text(self, text: str, limit_s: float = 60.0) -> None:
        """Wait until a text is on the page."""
        assert wait_for(lambda: text in self.text(), limit_s, LOOK_S), f"{text!r} is not on the page:\n{self.text()}"

    def place(self, script: str) -> tuple[float, float]:
        """The middle of the element that a piece of JavaScript finds, scrolled into view."""
        box = self.run(
            f"(() => {{ const e = {script}; if (!e) return null; e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        assert box, f"not on the page: {script}"
        return box[0], box[1]

    def click(self, text: str, tag: str = "button, label, [role=tab]") -> None:
        """Click the first visible thing that reads exactly so."""
        script = (
            f"[...document.querySelectorAll({json.dumps(tag)})].find(e => e.innerText.trim() === {json.dumps(text)}"
            " && e.getBoundingClientRect().width > 0)"
        )
        assert wait_for(lambda: self.run(f"!!({script})"), 30.0, LOOK_S), f"nothing to click reads {text!r}"
        self.click_at(*self.place(script))

    def click_at(self, x: float, y: float) -> None:
        """Press and release the mouse somewhere."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Press the mouse, move it, release it."""
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], button="left", clickCount=1)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
            time.sleep(0.02)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """What the page looks like now, as a PNG or JPEG file."""
        kind = "jpeg" if path.suffix in (".jpg", ".jpeg") else "png"
        quality = {"quality": 82} if kind == "jpeg" else {}
        data = self.call("Page.captureScreenshot", limit_s=120.0, format=kind, **quality)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the tab's line."""
        self._line.close()


@contextlib.contextmanager
def chromium(size_px: tuple[int, int] = (1600, 900)) -> Iterator[Callable[[str], Tab]]:
    """A browser; calling it opens an address in a new tab."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        size = f"--window-size={size_px[0]},{size_px[1]}"
        process = subprocess.Popen(
            [CHROMIUM, *FLAGS, size, f"--user-data-dir={home}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        tabs: list[Tab] = []
        try:
            told = Path(home, "DevToolsActivePort")
            assert wait_for(lambda: told.exists() and told.read_text().count("\n") >= 1, 60.0), "Chromium did not start"
            port = int(told.read_text().splitlines()[0])

            def open_tab(url: str) -> Tab:
                request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
                with urllib.request.urlopen(request, timeout=60) as answer:
                    tab = Tab(json.load(answer)["webSocketDebuggerUrl"])
                tabs.append(tab)
                # Coarse: without a graphics card every pixel costs time, and the layout is the same.
                size = {"width": size_px[0], "height": size_px[1], "deviceScaleFactor": 0.4, "mobile": False}
                tab.call("Emulation.setDeviceMetricsOverride", **size)
                tab.go(url)
                return tab

            yield open_tab
        finally:
            for tab in tabs:
                tab.close()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
