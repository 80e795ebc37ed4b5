"""A page in headless Chromium, which tests control through its debugging port."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request

OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-component-update", "--disable-background-networking", "--disable-sync",
    "--window-size=1200,1000", "--remote-debugging-port=0",
)  # fmt: skip


def chromium():
    """Return the path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


class Page:
    """One page. problems: the errors that its script raised, or that its console shows."""

    def __init__(self, socket):
        self._socket, self._number, self.problems = socket, 0, []
        self._loop = asyncio.get_event_loop_policy().new_event_loop()

    def ask(self, method, **parameters):
        return self._loop.run_until_complete(self._ask(method, parameters))

    async def _ask(self, method, parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        await self._socket.write_message(json.dumps(message))
        while True:
            answer = json.loads(await asyncio.wait_for(self._socket.read_message(), 30))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.problems.append(answer["params"])

    def value(self, expression):
        """Return the value of a JavaScript expression."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def text(self, selector):
        """Return the text of the first element that a selector matches."""
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText")

    def until(self, expression, seconds=20):
        deadline = time.monotonic() + seconds
        while not (found := self.value(expression)):
            assert time.monotonic() < deadline, f"{expression} is still {found!r}"
            time.sleep(0.1)
        return found


@contextlib.contextmanager
def opened(address, folder):
    """A ``Page`` at an address; folder: a new one for the browser's files."""
    from tornado.websocket import websocket_connect

    command = [chromium(), *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    browser = subprocess.Popen(command, start_new_session=True, **quiet)
    try:
        port_file, deadline = folder / "DevToolsActivePort", time.monotonic() + 30
        while not port_file.exists() or not port_file.read_text().strip():
            assert browser.poll() is None, "Chromium ended"
            assert time.monotonic() < deadline, "Chromium did not start within 30 s"
            time.sleep(0.05)
        port = port_file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            (target,) = [one for one in json.load(answer) if one["type"] == "page"]
        page = Page(None)

        async def connect():
            return await websocket_connect(target["webSocketDebuggerUrl"])

        page._socket = page._loop.run_until_complete(connect())
        for domain in ("Runtime", "Log", "Page"):
            page.ask(f"{domain}.enable")
        page.ask("Page.navigate", url=address)
        yield page
        page._socket.close()
        page._loop.close()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()
