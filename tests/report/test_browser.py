"""The page in a real browser: it draws, fits a phone, follows a dark theme and runs nothing."""

from __future__ import annotations

import html
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image
from sample import GOOD, PLANTED, SECTIONS, TRACIN, fresh, rows

from spanfluence.report import render_explanation, render_page

BROWSERS = ("chromium", "google-chrome", "chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Runs the browser on a page with some flags and gives its output."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")

    def run(page: str, *flags: str) -> str:
        folder = tmp_path_factory.mktemp("browser")
        path = folder / "report.html"
        path.write_text(page, encoding="utf-8")
        command = [browser, *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, path.as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=90, check=True)
        return done.stdout.decode("utf-8")

    return run


@pytest.fixture(scope="module")
def shoot(browse, tmp_path_factory):
    """A screenshot as an array (height, width, 3) of values from 0 to 255."""

    def run(page: str, width: int, height: int, *flags: str) -> np.ndarray:
        picture = tmp_path_factory.mktemp("picture") / "report.png"
        browse(page, f"--window-size={width},{height}", f"--screenshot={picture}", *flags)
        assert picture.is_file()
        with Image.open(picture) as image:
            return np.asarray(image.convert("RGB")).astype(int)

    return run


def test_the_page_is_drawn_with_text_and_both_hues(shoot):
    picture = shoot(render_page("A report", SECTIONS), 1280, 1600)
    assert picture.shape == (1600, 1280, 3)
    red, blue = picture[..., 0], picture[..., 2]
    assert picture.mean() > 220  # a light page
    assert (picture.max(axis=2) < 90).sum() > 2_000  # letters
    assert (blue - red > 30).sum() > 3_000  # supporters
    assert (red - blue > 30).sum() > 3_000  # opponents
    assert (picture[600:] != picture[0, 0]).any(axis=(1, 2)).mean() > 0.3  # down to the end


def test_nothing_sticks_out_on_a_phone(shoot):
    explanation = fresh(GOOD)
    explanation["parts"][0]["supporters"][0]["id"] = "x" * 90
    explanation["test"]["context"] = "y" * 90
    picture = shoot(render_explanation(explanation), 400, 1600)
    assert (picture[:, -10:] == picture[0, 0]).all()
    assert (picture[:, :-10] != picture[0, 0]).any()


def test_a_dark_theme_is_followed(shoot):
    dark = shoot(render_explanation(PLANTED), 1280, 900, "--blink-settings=preferredColorScheme=0")
    assert dark.mean() < 60
    assert (dark.min(axis=2) > 150).sum() > 2_000  # light letters


def test_the_document_holds_every_training_row(browse):
    dom = html.unescape(browse(render_page("A report", SECTIONS), "--dump-dom"))
    for explanation in (GOOD, PLANTED, TRACIN):
        for each in rows(explanation):
            assert each["id"] is None or each["id"] in dom
            for words in each["text"].split(each["words"]):
                assert words in dom
    assert dom.count('class="sf-row"') == sum(len(rows(each)) for each in (GOOD, PLANTED, TRACIN))


def test_hostile_text_stays_text(browse):
    explanation = fresh()
    attack = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    explanation["notes"] = [attack]
    explanation["parts"][0]["supporters"][0].update(label=attack, id=attack, note=attack)
    dom = browse(render_explanation(explanation), "--dump-dom")
    assert "<title>Why does the model" in dom
    assert "<script" not in dom
    assert "<img" not in dom
    assert html.unescape(dom).count(attack) >= 4
