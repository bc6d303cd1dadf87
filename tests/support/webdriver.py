"""Debian's chromium without a window, by the W3C WebDriver protocol of chromedriver."""
import base64
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def available():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


def until(condition, what, seconds=120):
    """The first true value of condition(). The limit only keeps a broken test from hanging."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    sys.exit(f"FAIL: never true in {seconds} s: {what}")


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        port = None
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                port = found.group(1)
                break
        if port is None:
            sys.exit("FAIL: chromedriver did not start")
        self.base = f"http://127.0.0.1:{port}"
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--hide-scrollbars", f"--window-size={width},{height}"]
        if dark:
            flags.append("--force-dark-mode")
        options = {"args": flags}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options}}})
        self.session = "/session/" + answer["sessionId"]
        self._call("POST", self.session + "/goog/cdp/execute", {
            "cmd": "Emulation.setDeviceMetricsOverride",
            "params": {"width": width, "height": height, "deviceScaleFactor": 1,
                       "mobile": False}})
        if dark:
            self._call("POST", self.session + "/goog/cdp/execute", {
                "cmd": "Emulation.setEmulatedMedia",
                "params": {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}})

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, address):
        self._call("POST", self.session + "/url", {"url": address})
        until(lambda: self.run("return !!window.groveView"), "the page has loaded")

    def run(self, script, *arguments):
        return self._call("POST", self.session + "/execute/sync",
                          {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def hover(self, x, y):
        self._call("POST", self.session + "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
                {"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]}]})

    def press(self, key):
        self._call("POST", self.session + "/actions", {"actions": [
            {"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": key},
                                                      {"type": "keyUp", "value": key}]}]})

    def click(self, selector):
        element = self._call("POST", self.session + "/element",
                             {"using": "css selector", "value": selector})
        self._call("POST", f"{self.session}/element/{element[ELEMENT]}/click", {})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("GET", self.session + "/screenshot")))

    def close(self):
        try:
            self._call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
