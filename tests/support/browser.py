"""A browser without a screen, for the tests of pages."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
DESKTOP, PHONE = (1280, 900), (390, 844)


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start chromium with its own profile; if it is not installed the test is skipped, but not in CI."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if None in found and not os.environ.get("VFPILCO_NO_SKIP"):
        pytest.skip("chromium or chromedriver is missing: apt install chromium chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = str(found[0])
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(str(found[1])))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """What the tests do with a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path, size: tuple[int, int] = DESKTOP, dark: bool = False) -> None:
        """Open a file on a screen of that size."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=1,
            mobile=size == PHONE,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.driver.get("about:blank")
        self.driver.get(file.resolve().as_uri())
        self.wait("document.querySelector('h1') !== null")

    def command(self, name: str, **parameters: Any) -> Any:
        """Run a command of the developer tools."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return {expression}")

    def wait(self, expression: str, seconds: float = 20) -> None:
        """Wait until a JavaScript expression is true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: self.value(expression))

    def press(self, selector: str, which: int = 0) -> None:
        """Click on an element."""
        self.value(f"document.querySelectorAll('{selector}')[{which}].click()")

    def picture(self) -> np.ndarray:
        """A screenshot, (height, width, 3)."""
        return np.array(Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert("RGB"))

    def errors(self) -> list[str]:
        """The messages in the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
