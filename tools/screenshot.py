"""A picture of a page of the console: python -m tools.screenshot URL OUT.png [--dark]."""

import argparse
import sys
import time
from pathlib import Path

from .chromium import Chromium, ChromiumError


def main() -> int:
    """Take the picture; 1 when the page never showed what was waited for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("out", type=Path)
    parser.add_argument("--dark", action="store_true", help="the dark theme")
    parser.add_argument("--chinese", action="store_true", help="in Chinese; its glyphs need a font")
    parser.add_argument("--whole", action="store_true", help="the whole page, not one window full")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument(
        "--until",
        default="document.querySelector('main h1, main h2')",
        help="wait until this expression is true in the page (default: a heading is there)",
    )
    wanted = parser.parse_args()
    try:
        with Chromium(width=wanted.width, height=wanted.height) as browser:
            browser.scheme("dark" if wanted.dark else "light")
            if wanted.chinese:
                browser.before_every_page("localStorage.setItem('rankscope.language', 'zh')")
            browser.open(wanted.url)
            browser.wait(wanted.until)
            time.sleep(1.5)  # the plot is fetched after the page
            wanted.out.write_bytes(browser.picture(whole=wanted.whole))
    except ChromiumError as error:
        print(f"no picture: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
