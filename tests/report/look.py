#!/usr/bin/env python3
"""Opens pages of `vxm report` in headless Chromium, at two widths and in both themes.

Reads the numbers of the document, checks that nothing is wider than the window and that no request leaves the page, and looks at the
pixels of screenshots. The screenshots stay in FOLDER.

Usage: look.py VXM FOLDER. Needs `pip install playwright`, and Chromium: the system's, or `playwright install chromium-headless-shell`.
"""

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# counts the pixels of each colour of a screenshot; the colours as six hexadecimal digits
COLOURS = """async (png) => {
    const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const data = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
    const found = {};
    for (let i = 0; i < data.length; i += 4) {
        const colour = ((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]).toString(16).padStart(6, "0");
        found[colour] = (found[colour] || 0) + 1;
    }
    return found;
}"""

# the colours of the style sheet: the page, and what is drawn
THEMES = {"light": ("ffffff", "1f6feb"), "dark": ("0d1117", "58a6ff")}


def made(vxm, folder):
    """The pages, and the object that the run of the first printed."""

    def run(*arguments):
        return subprocess.run([vxm, "--quiet", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    run("report", "rmat:12:8", "--algorithm", "mis", "--device", "cpu", "-o", "run.html")
    for name, seed in (("a", "1"), ("b", "2")):
        told = run("mis", "rmat:12:8", "--device", "cpu", "--json", "--seed", seed)
        (folder / f"{name}.json").write_text(told)
    run("report", "--compare", "a.json", "b.json", "-o", "compare.html")
    return json.loads(run("mis", "rmat:12:8", "--device", "cpu", "--json"))


def looked_at(browser, folder, name, width, theme, told):
    """Checks one page at one width in one theme."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, java_script_enabled=True)
    page = context.new_page()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((folder / f"{name}.html").as_uri())
    outside = [url for url in requests if not url.startswith(("file:", "data:"))]
    assert not outside, outside
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"{name}: {wide} pixels wide in a window of {width}"
    if name == "run":
        number = lambda id: float(page.locator(f"data#{id}").get_attribute("value"))
        assert number("vertices") == told["vertices"] and number("edges") == told["edges"]
        assert page.locator("#digest").inner_text() == told["digest"]
        assert page.locator("figure svg").count() >= 3
        for picture in page.locator("figure img").all():
            assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    shot = page.screenshot(full_page=True)
    (folder / f"{name}.{width}.{theme}.png").write_bytes(shot)
    found = page.evaluate(COLOURS, base64.b64encode(shot).decode())
    ground, drawn = THEMES[theme]
    assert max(found, key=found.get) == ground, f"{name} {theme}: the most frequent colour is {max(found, key=found.get)}"
    assert found.get(drawn, 0) > 200, f"{name} {theme}: {found.get(drawn, 0)} pixels of {drawn}"
    context.close()
    print(f"{name}: {width} pixels, {theme}: {len(found)} colours, {found[drawn]} pixels drawn")


def main():
    vxm, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    told = made(vxm, folder.resolve())
    with sync_playwright() as playwright:
        system = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=system)
        for name in ("run", "compare"):
            for width in (1280, 400):
                for theme in THEMES:
                    looked_at(browser, folder.resolve(), name, width, theme, told)
        browser.close()


if __name__ == "__main__":
    main()
