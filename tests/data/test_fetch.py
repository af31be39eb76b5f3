"""Download against a server on this machine: only right files arrive, and failures leave nothing."""

from __future__ import annotations

import hashlib
import http.server
import io
import socket
import threading
from collections.abc import Callable

import pytest
from real_files import real_folder
from rich.console import Console

from spanfluence.data.fetch import fetch
from spanfluence.data.mams import load_mams
from spanfluence.data.public import BASE_URL, DATASETS, PublicDataset, PublicFile
from spanfluence.data.sentihood import load_sentihood
from spanfluence.errors import InputError

BODIES = {"a b.xml": b"<sentences/>" * 20_000, "LICENSE": b"Do as you like."}
PATHS = {"a b.xml": "raw/a b.xml", "LICENSE": "LICENSE"}
TINY = PublicDataset(
    "owner/tiny",
    "c0ffee",
    tuple(
        PublicFile(PATHS[name], len(body), hashlib.sha256(body).hexdigest())
        for name, body in BODIES.items()
    ),
)
URLS = {"a b.xml": "/owner/tiny/c0ffee/raw/a%20b.xml", "LICENSE": "/owner/tiny/c0ffee/LICENSE"}

Handler = http.server.BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


class Server:
    """Answers by path, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        outer = self

        class ByPath(Handler):
            def do_GET(self):
                outer.asked.append(self.path)
                outer.answers.get(self.path, lambda handler: handler.send_error(404))(self)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ByPath)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def body(content: bytes, length: int | None = None) -> Answer:
    """An answer with `content`, which may be announced with another length."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content) if length is None else length))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setitem(DATASETS, "tiny", TINY)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    running = Server()
    running.answers = {URLS[name]: body(content) for name, content in BODIES.items()}
    yield running
    running.close()


def outcomes(fetched):
    return {item.path.name: item.outcome for item in fetched}


def failing(server, folder, **settings) -> str:
    """The one line of a fetch that must fail and leave nothing of the first file behind."""
    with pytest.raises(InputError) as caught:
        fetch("tiny", folder, base_url=server.url, **settings)
    assert not folder.exists()
    assert "\n" not in str(caught.value)
    assert "--from DIR" in str(caught.value)
    assert str(caught.value).startswith(server.url + URLS["a b.xml"])
    return str(caught.value)


def test_download(server, tmp_path):
    folder = tmp_path / "new" / "tiny"
    fetched = fetch("tiny", folder, base_url=server.url + "/")
    assert outcomes(fetched) == {"a b.xml": "downloaded", "LICENSE": "downloaded"}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == BODIES
    assert sorted(server.asked) == sorted(URLS.values())


def test_what_is_there_is_kept_and_not_asked_for(server, tmp_path):
    (tmp_path / "LICENSE").write_bytes(BODIES["LICENSE"])
    fetched = fetch("tiny", tmp_path, base_url=server.url)
    assert outcomes(fetched) == {"a b.xml": "downloaded", "LICENSE": "already there"}
    assert server.asked == [URLS["a b.xml"]]
    again = fetch("tiny", tmp_path, base_url=server.url)
    assert set(outcomes(again).values()) == {"already there"}
    assert len(server.asked) == 1


@pytest.mark.parametrize("other", [b"my own notes", b"Do as YOU like."])
def test_another_file_of_that_name_is_never_overwritten(server, tmp_path, other):
    (tmp_path / "LICENSE").write_bytes(other)
    with pytest.raises(InputError, match="LICENSE: exists with another content: move it away"):
        fetch("tiny", tmp_path, base_url=server.url)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [other]
    assert server.asked == []


def test_wrong_checksum(server, tmp_path):
    wrong = BODIES["a b.xml"].replace(b"<", b">", 1)
    server.answers[URLS["a b.xml"]] = body(wrong)
    message = failing(server, tmp_path / "new")
    assert f"wrong content, SHA-256 {hashlib.sha256(wrong).hexdigest()} instead of" in message


def test_interrupted_transfer(server, tmp_path):
    server.answers[URLS["a b.xml"]] = body(BODIES["a b.xml"][:100_000], len(BODIES["a b.xml"]))
    assert "100000 of 240000 bytes" in failing(server, tmp_path / "new")


def test_interrupted_chunked_transfer(server, tmp_path):
    def answer(handler: Handler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"ffff\r\nonly these")
        handler.close_connection = True

    server.answers[URLS["a b.xml"]] = answer
    assert "download failed (IncompleteRead" in failing(server, tmp_path / "new")


def test_too_long_a_body_is_not_read_to_its_end(server, tmp_path):
    server.answers[URLS["a b.xml"]] = body(BODIES["a b.xml"] * 3)
    assert "more than the 240000 bytes expected" in failing(server, tmp_path / "new")


def test_not_found(server, tmp_path):
    del server.answers[URLS["a b.xml"]]
    assert "the server answered 404 Not Found" in failing(server, tmp_path / "new")


def test_redirection_to_a_local_file_is_refused(server, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(BODIES["a b.xml"])

    def answer(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", secret.as_uri())
        handler.end_headers()

    server.answers[URLS["a b.xml"]] = answer
    assert "the server answered 302" in failing(server, tmp_path / "new")


def test_silent_server(server, tmp_path):
    stop = threading.Event()
    server.answers[URLS["a b.xml"]] = lambda handler: stop.wait(20)
    try:
        assert "download failed (timed out)" in failing(server, tmp_path / "new", timeout=0.2)
    finally:
        stop.set()


def test_connection_refused(server, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert "Connection refused" in failing(server, tmp_path / "new")


def test_files_before_a_failure_stay(server, tmp_path):
    del server.answers[URLS["LICENSE"]]
    with pytest.raises(InputError, match="404"):
        fetch("tiny", tmp_path / "new", base_url=server.url)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a b.xml"]


@pytest.mark.parametrize("address", ["file:///tmp", "ftp://127.0.0.1", "127.0.0.1"])
def test_only_web_addresses(server, tmp_path, address):
    with pytest.raises(InputError, match="only http and https"):
        fetch("tiny", tmp_path, base_url=address)


def test_unknown_name(tmp_path):
    with pytest.raises(InputError, match="no data set 'imdb' to fetch: choose mams or sentihood"):
        fetch("imdb", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_target_that_is_a_file(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be made a folder"):
        fetch("tiny", tmp_path / "file", base_url=server.url)


def test_progress_is_drawn_on_the_console(server, tmp_path):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    fetch("tiny", tmp_path, base_url=server.url, progress=console)
    assert "a b.xml" in screen.getvalue()
    assert "240.0/240.0 kB" in screen.getvalue()


@pytest.mark.parametrize("layout", ["flat", "clone"])
def test_local_copies(server, tmp_path, layout):
    for name, content in BODIES.items():
        path = tmp_path / "source" / (name if layout == "flat" else PATHS[name])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    fetched = fetch("tiny", tmp_path / "to", source=tmp_path / "source")
    assert set(outcomes(fetched).values()) == {"copied"}
    assert {path.name: path.read_bytes() for path in (tmp_path / "to").iterdir()} == BODIES
    assert server.asked == []


def test_local_copies_are_checked(server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    with pytest.raises(InputError, match=r"source: no file 'a b\.xml' in this folder"):
        fetch("tiny", tmp_path / "to", source=source)
    (source / "a b.xml").write_bytes(BODIES["a b.xml"][:-1] + b"?")
    with pytest.raises(InputError, match=r"a b\.xml: wrong content"):
        fetch("tiny", tmp_path / "to", source=source)
    assert not (tmp_path / "to").exists()


def test_addresses_are_the_public_ones():
    addresses = [
        data.url(file)
        for name in ("mams", "sentihood")
        for data in [DATASETS[name]]
        for file in data.files
    ]
    assert BASE_URL == "https://raw.githubusercontent.com"
    assert addresses[1] == (
        "https://raw.githubusercontent.com/siat-nlp/MAMS-for-ABSA/"
        "cddcdb0f423b3fdb2c76b70744737abed3a00d17/data/MAMS-ATSA/raw/val.xml"
    )
    assert addresses[5] == (
        "https://raw.githubusercontent.com/uclnlp/jack/"
        "9e5ffbd4fb2b0bd6b816fe6e14b9045ac776bb8e/data/sentihood/sentihood-dev.json"
    )
    assert len(addresses) == 8


@pytest.mark.parametrize(("name", "load"), [("mams", load_mams), ("sentihood", load_sentihood)])
def test_the_real_files_pass_through_a_server_and_from_a_folder(server, tmp_path, name, load):
    real = real_folder(name)
    dataset = DATASETS[name]
    for file in dataset.files:
        path = f"/{dataset.repository}/{dataset.commit}/{file.path}"
        server.answers[path] = body((real / file.name).read_bytes())
    fetch(name, tmp_path / "web", base_url=server.url)
    fetch(name, tmp_path / "copies", source=real)
    assert load(tmp_path / "web") == load(tmp_path / "copies") == load(real)
    assert (tmp_path / "web" / "LICENSE").read_bytes() == (real / "LICENSE").read_bytes()
