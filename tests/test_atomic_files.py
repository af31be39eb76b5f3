"""What is written appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spanfluence.errors import InputError
from spanfluence.files import atomic_write, replace_folder_atomic, write_text_atomic


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_the_file_appears_only_at_the_end(tmp_path):
    target = tmp_path / "run.json"
    with atomic_write(target) as draft:
        draft.write_text("new")
        assert draft.parent == tmp_path
        assert not target.exists()
    assert target.read_text() == "new"
    assert names(tmp_path) == ["run.json"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_an_exception_keeps_the_old_file_and_leaves_nothing(tmp_path, failure):
    target = tmp_path / "run.json"
    target.write_text("old")
    with pytest.raises(failure), atomic_write(target) as draft:
        draft.write_text("half")
        raise failure
    assert target.read_text() == "old"
    assert names(tmp_path) == ["run.json"]


def test_a_failing_rename_keeps_the_old_file_and_leaves_nothing(tmp_path, monkeypatch):
    target = tmp_path / "run.json"
    target.write_text("old")

    def refuse(self, other):
        raise OSError("disk gone")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="disk gone"):
        write_text_atomic(target, "new")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["run.json"]


def test_text_is_written_byte_for_byte(tmp_path):
    write_text_atomic(tmp_path / "a.txt", "é\r\n\n😀")
    assert (tmp_path / "a.txt").read_bytes() == "é\r\n\n😀".encode()


def test_file_mode_follows_the_umask(tmp_path):
    write_text_atomic(tmp_path / "a.txt", "a")
    (tmp_path / "b.txt").write_text("b")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_a_missing_parent_is_named(tmp_path):
    with pytest.raises(InputError, match=r"folder .*nowhere does not exist"):
        write_text_atomic(tmp_path / "nowhere" / "a.txt", "a")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_parent_without_permission_is_named(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(InputError, match="no permission"):
        write_text_atomic(locked / "a.txt", "a")


def test_only_regular_files_are_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(InputError, match="not a regular file"):
            write_text_atomic(tmp_path / name, "a")
    assert names(tmp_path) == ["folder", "pipe"]


def test_a_new_folder_appears_only_at_the_end(tmp_path):
    target = tmp_path / "epoch-1"
    with replace_folder_atomic(target) as draft:
        (draft / "inner").mkdir()
        (draft / "inner" / "weights").write_text("w")
        assert not target.exists()
    assert (target / "inner" / "weights").read_text() == "w"
    assert names(tmp_path) == ["epoch-1"]


def test_an_old_folder_is_replaced_with_all_it_held(tmp_path):
    target = tmp_path / "best"
    target.mkdir()
    (target / "stale").write_text("old")
    with replace_folder_atomic(target) as draft:
        (draft / "weights").write_text("new")
    assert names(target) == ["weights"]
    assert names(tmp_path) == ["best"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_an_exception_keeps_the_old_folder_and_leaves_nothing(tmp_path, failure):
    target = tmp_path / "best"
    target.mkdir()
    (target / "weights").write_text("old")
    with pytest.raises(failure), replace_folder_atomic(target) as draft:
        (draft / "weights").write_text("half")
        raise failure
    assert (target / "weights").read_text() == "old"
    assert names(tmp_path) == ["best"]


def test_a_failing_second_rename_puts_the_old_folder_back(tmp_path, monkeypatch):
    target = tmp_path / "best"
    target.mkdir()
    (target / "weights").write_text("old")
    rename = Path.rename

    def refuse_draft(self, other):
        if self.suffix == ".tmp":
            raise OSError("disk gone")
        return rename(self, other)

    monkeypatch.setattr(Path, "rename", refuse_draft)
    with pytest.raises(OSError, match="disk gone"), replace_folder_atomic(target) as draft:
        (draft / "weights").write_text("new")
    assert (target / "weights").read_text() == "old"
    assert names(tmp_path) == ["best"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "best").write_text("a file")
    with (
        pytest.raises(InputError, match="is a file"),
        replace_folder_atomic(tmp_path / "best"),
    ):
        pass
    assert (tmp_path / "best").read_text() == "a file"
