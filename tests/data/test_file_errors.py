"""Bad input: one line that says what, where, and what to do."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from pyarrow import parquet

from spanfluence.data import load_examples
from spanfluence.errors import InputError

# name, content, what the message must hold; it always begins with the path
BAD_FILES = [
    ("d.jsonl", "", ": the file is empty"),
    ("d.csv", "", ": the file is empty"),
    ("d.json", " \n", ": the file is empty"),
    ("d.jsonl", b"\xef\xbb\xbf\n", ": the file is empty"),
    ("d.json", "[]", ": the file has no rows"),
    ("d.csv", "text,label\n", ":1: the file has no rows"),
    ("d.jsonl", '{"text": "a"}\n{"text": "b"', ":2: not valid JSON: .* at column 13"),
    ("d.json", '[\n{"text": "a"},\n]', ":(2|3): not valid JSON"),
    ("d.json", '{"text": "a"}\n{"text": "b"}', ":2: not valid JSON.* must be named .jsonl"),
    ("d.json", '{"text": "a"}', ": must hold a list of objects, got dict"),
    ("d.jsonl", '{"text": "a"}\n["b"]', r":2: a row must be an object .* got \['b'\]"),
    ("d.json", '[{"text": "a"}, 3]', " row 2: a row must be an object .* got 3"),
    ("d.jsonl", "[" * 100_000, ":1: not usable JSON"),
    ("d.jsonl", '{"text": "a", "label": ' + "9" * 5000 + "}", ":1: not usable JSON"),
    ("d.jsonl", '{"text": "a"}\n{"text": " \\t"}', ":2: text is empty: remove the row"),
    ("d.jsonl", '{"text": null}', ":1: text is empty: remove the row"),
    ("d.csv", 'text,label\na,x\n"",y\n', ":3: text is empty: remove the row"),
    ("d.jsonl", '{"text": 3}', ":1: text must be a string, got int"),
    ("d.jsonl", '{"text": "a"}\n{"label": "b"}', ":2: no 'text' in this row, only 'label'"),
    ("d.jsonl", "{}", ":1: no 'text' in this row, only nothing"),
    (
        "d.jsonl",
        '{"sentence": "a", "label": 1}',
        r": no column 'text': .* 'sentence', 'label'.*text=",
    ),
    ("d.csv", "sentence;label\na;1\n", r":1: no column 'text': .*'sentence;label'.*--text-column"),
    ("d.csv", "text,text\na,b\n", ":1: two columns are named 'text'"),
    ("d.csv", 'text,label\n"a\nb",x\nc\n', ":4: 1 cells where the header has 2"),
    ("d.csv", 'text,label\na,x\n"b,y\nc,z\n', ":3: cannot be read as a table: .*double quote"),
    ("d.csv", 'text,label\n"a" b,x\n', ":2: cannot be read as a table"),
    ("d.jsonl", '{"text": "abc", "spans": [[0, 4]]}', r":1: span \[0, 4\) reaches outside"),
    ("d.jsonl", '{"text": "abc", "spans": [[2, 2]]}', r":1: span \[2, 2\) is empty"),
    ("d.jsonl", '{"text": "abc", "spans": [[-1, 2]]}', ":1: span start -1 is negative"),
    ("d.jsonl", '{"text": "abc", "spans": [0, 2]}', ":1: a span is a pair"),
    ("d.csv", f"text,spans\nabc,{'x' * 9000}\n", r":2: spans must be JSON .*xxx … xxx.*x'$"),
    ("d.jsonl", '{"text": "abc", "spans": {"a": 1}}', ":1: spans must be a list"),
    ("d.jsonl", '{"text": "e\\u0301a", "spans": [[0, 1]]}', ":1: span .* cuts a character in two"),
    ("d.csv", 'text,spans\nabc,"[[0,9]]"\n', r":2: span \[0, 9\) reaches outside"),
    ("d.csv", "text,spans\nabc,0-2\n", r":2: spans must be JSON such as .* got '0-2'"),
    ("d.jsonl", '{"text": "a", "label": true}', ":1: label must be a name or a whole number"),
    ("d.jsonl", '{"text": "a", "label": 1.5}', ":1: label must be .* got 1.5"),
    ("d.jsonl", '{"text": "a", "context": 4}', ":1: context must be a string"),
    (
        "d.jsonl",
        '{"text": "a", "id": [1]}',
        r":1: id must be a string or a whole number, got \[1\]",
    ),
    (
        "d.jsonl",
        '{"text": "a", "label": "x"}\n{"text": "b", "label": null}\n{"text": "c", "label": 1}',
        r":3: label 1 is a number, but .*d.jsonl:1 has the name 'x'",
    ),
    (
        "d.jsonl",
        '{"text": "a", "id": 7}\n{"text": "b"}\n\n{"text": "c", "id": "7"}',
        r":4: id '7' is also the id of .*d.jsonl:1:",
    ),
    (
        "d.csv",
        "text,id\na,2\nb,\n",
        r":3: id '2' is also the id of .*d.csv:2: .*without an id is called by its number",
    ),
    ("d.jsonl", b'{"text": "a"}\n{"text": "caf\xe9"}', ":2: byte 0xe9 at byte offset 27 .*UTF-8$"),
    ("d.csv", b"\xef\xbb\xbftext\n\xff\n", ":2: byte 0xff at byte offset 8 is not UTF-8: save it"),
    ("d.jsonl", '{"text": "a\\ud800"}', r":1: text holds half of a surrogate pair.*offset 1"),
    ("d.jsonl", '{"text": "a", "label": "\\udfff"}', ":1: label holds half of a surrogate pair"),
    ("d.parquet", "", ": the file is empty"),
    ("d.parquet", "PAR1 no", ": not a parquet file that can be read"),
    ("d.xlsx", "a", r": files named '.xlsx' cannot be read: use .jsonl, .*\.parquet.*folder"),
    ("data", "a", ": files without a suffix cannot be read"),
    ("d.xml", "<a>", ":1: not valid XML"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_bad_file(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        load_examples(path)
    assert re.match(re.escape(str(path)) + message, str(caught.value)), caught.value
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 600


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.jsonl: no such file: check the path"):
        load_examples(tmp_path / "nowhere.jsonl")


def test_folder_that_is_no_data_set(tmp_path):
    with pytest.raises(InputError, match="did not write: give a file"):
        load_examples(tmp_path)
    (tmp_path / "train.csv").write_text("text\na\n")
    with pytest.raises(InputError, match=r"name one of its files: 'train\.csv'"):
        load_examples(tmp_path)


@pytest.mark.parametrize("field", ["text", "label", "context", "spans", "id"])
def test_unknown_column_asked_for(tmp_path, field):
    (tmp_path / "d.jsonl").write_text('{"text": "a", "stars": 1}')
    (tmp_path / "d.csv").write_text("text,stars\na,1\n")
    parquet.write_table(pa.table({"text": ["a"], "stars": [1]}), tmp_path / "d.parquet")
    for name in ("d.jsonl", "d.csv", "d.parquet"):
        with pytest.raises(
            InputError,
            match=rf"no column 'sars': the columns are 'text', 'stars': .*{field}= \(--{field}-column\)",
        ):
            load_examples(tmp_path / name, **{field: "sars"})


def test_parquet_rows_are_named(tmp_path):
    table = pa.table({"text": ["abc", "de"], "spans": [[[0, 2]], [[0, 3]]]})
    parquet.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(InputError, match=r"d\.parquet row 2: span \[0, 3\) reaches outside"):
        load_examples(tmp_path / "d.parquet")


def test_parquet_without_rows(tmp_path):
    parquet.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "d.parquet")
    with pytest.raises(InputError, match="the file has no rows"):
        load_examples(tmp_path / "d.parquet")


def test_columns_of_a_fixed_layout_cannot_be_chosen(tmp_path):
    (tmp_path / "d.xml").write_text("<sentences/>")
    (tmp_path / "d.json").write_text('[{"text": "a", "opinions": []}]')
    for name, layout in (("d.xml", "MAMS"), ("d.json", "SentiHood")):
        with pytest.raises(InputError, match=f"the {layout} layout has fixed columns: .*label='x'"):
            load_examples(tmp_path / name, label="x")


def test_an_explicit_id_is_part_of_the_message(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "a", "id": "r9", "spans": [[0, 5]]}')
    with pytest.raises(InputError, match=r"d\.jsonl:1: example 'r9': span"):
        load_examples(tmp_path / "d.jsonl")


def test_many_columns_are_cut(tmp_path):
    header = ",".join(f"column{number}" for number in range(30))
    (tmp_path / "d.csv").write_text(header + "\n" + "," * 29 + "\n")
    with pytest.raises(InputError, match="'column19' and 10 more"):
        load_examples(tmp_path / "d.csv")
