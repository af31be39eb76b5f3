"""Every format gives the same examples, and keeps label names."""

from __future__ import annotations

import builtins
import csv
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from spanfluence.data import load_examples, load_terms
from spanfluence.errors import InputError, MissingExtra
from spanfluence.units import Example, Span

EXAMPLES = [
    Example("Great café, slow 👩‍🍳.", "mixed", "café", (Span(0, 5), Span(12, 16)), "a"),
    Example("Nothing, to say", None, None, (), "2"),
    Example('A "quoted"\nline', "good", None, (), "c"),
]
ROWS = [
    {
        "text": "Great café, slow 👩‍🍳.",
        "label": "mixed",
        "context": "café",
        "spans": [[0, 5], [12, 16]],
        "id": "a",
        "stars": 3,
    },
    {"text": "Nothing, to say", "stars": 1},
    {"text": 'A "quoted"\nline', "label": "good", "id": "c"},
]
CSV = (
    "stars,text,label,context,spans,id\r\n"
    '3,"Great café, slow 👩‍🍳.",mixed,café,"[[0,5],[12,16]]",a\r\n'
    '1,"Nothing, to say",,,,\r\n'
    "\r\n"
    ',"A ""quoted""\nline",good,,,c\r\n'
)


def as_table(rows=ROWS) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=pa.Table.from_pylist(rows[:1]).schema)


@pytest.mark.parametrize("name", ["d.jsonl", "d.ndjson", "D.JSONL"])
def test_jsonl(tmp_path, name):
    path = tmp_path / name
    path.write_text("\n\n".join(json.dumps(row) for row in ROWS) + "\n")
    assert load_examples(path) == EXAMPLES


def test_jsonl_lines_end_at_newlines_only(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_bytes('{"text": "a\u2028b\x85c"}\r\n{"text": "d"}'.encode())
    assert [example.text for example in load_examples(path)] == ["a\u2028b\x85c", "d"]


def test_json_list(tmp_path):
    path = tmp_path / "d.json"
    path.write_text(json.dumps(ROWS, indent=1))
    assert load_examples(path) == EXAMPLES


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv(tmp_path, mark):
    path = tmp_path / "d.csv"
    path.write_bytes((mark + CSV).encode())
    assert load_examples(path) == EXAMPLES


def test_tsv_cells_may_hold_commas(tmp_path):
    path = tmp_path / "d.tsv"
    path.write_text("text\tlabel\nfine, really\t1\n")
    assert load_examples(path) == [Example("fine, really", "1", id="1")]


@pytest.mark.parametrize("cell", ["", " ", "null", "[]"])
def test_csv_without_spans(tmp_path, cell):
    (tmp_path / "d.csv").write_text(f"text,spans\na,{cell}\n")
    assert load_examples(tmp_path / "d.csv") == [Example("a", id="1")]


def test_byte_order_mark_before_json(tmp_path):
    for name, content in (("d.jsonl", '{"text": "a"}'), ("d.json", '[{"text": "a"}]')):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + content.encode())
        assert load_examples(tmp_path / name) == [Example("a", id="1")]


def test_parquet_with_lists(tmp_path):
    parquet.write_table(as_table(), tmp_path / "d.parquet")
    assert load_examples(str(tmp_path / "d.parquet")) == EXAMPLES


def test_parquet_with_json_spans_and_dictionary_labels(tmp_path):
    rows = [{**row, "spans": json.dumps(row.get("spans"))} for row in ROWS]
    table = as_table(rows)
    where = table.column_names.index("label")
    table = table.set_column(where, "label", table["label"].dictionary_encode())
    parquet.write_table(table, tmp_path / "d.parquet")
    assert load_examples(tmp_path / "d.parquet") == EXAMPLES


def test_jsonl_class_indices_stay_numbers(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text('{"text": "a", "label": 2}\n{"text": "b", "label": null, "id": 7}\n')
    assert load_examples(path) == [Example("a", 2, id="1"), Example("b", None, id="7")]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_columns_by_name(tmp_path, suffix):
    row = {"review": "Fine food", "stars": "5", "aspect": "food", "why": "[[0,4]]", "key": "k1"}
    path = tmp_path / f"d.{suffix}"
    if suffix == "jsonl":
        path.write_text(json.dumps(row))
    elif suffix == "csv":
        path.write_text('key,why,aspect,stars,review\nk1,"[[0,4]]",food,5,Fine food\n')
    else:
        parquet.write_table(pa.Table.from_pylist([row]), path)
    found = load_examples(
        path, text="review", label="stars", context="aspect", spans="why", id="key"
    )
    assert found == [Example("Fine food", "5", "food", (Span(0, 4),), "k1")]


@pytest.fixture
def class_label_dataset():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["bad", "good"]),
            "spans": datasets.List(datasets.List(datasets.Value("int64"))),
            "stars": datasets.Value("float32"),
        }
    )
    rows = {
        "text": ["Fine food", "Cold soup", "Who knows"],
        "label": [1, 0, -1],
        "spans": [[[0, 4]], [], None],
        "stars": [5.0, 1.0, None],
    }
    return datasets.Dataset.from_dict(rows, features=features)


NAMED = [
    Example("Fine food", "good", None, (Span(0, 4),), "1"),
    Example("Cold soup", "bad", None, (), "2"),
    Example("Who knows", None, None, (), "3"),
]


def test_datasets_folder_gives_class_names(tmp_path, class_label_dataset):
    class_label_dataset.with_format("numpy").save_to_disk(tmp_path / "saved")
    assert load_examples(tmp_path / "saved") == NAMED


def test_parquet_written_by_datasets_gives_class_names(tmp_path, class_label_dataset):
    class_label_dataset.to_parquet(tmp_path / "d.parquet")
    assert load_examples(tmp_path / "d.parquet") == NAMED


def test_class_index_without_a_name(tmp_path):
    meta = {"info": {"features": {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}}}}
    table = pa.table({"text": ["a"], "label": [2]}, metadata={"huggingface": json.dumps(meta)})
    parquet.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(InputError, match=r"d.parquet row 1: label 2 is not the index of one of"):
        load_examples(tmp_path / "d.parquet")


def test_dataset_dict_folder_asks_for_a_split(tmp_path, class_label_dataset):
    import datasets

    folder = tmp_path / "saved"
    datasets.DatasetDict(train=class_label_dataset, test=class_label_dataset).save_to_disk(folder)
    with pytest.raises(InputError, match=r"holds the splits train, test: name one, e.g. .*/train$"):
        load_examples(folder)
    assert load_examples(folder / "test") == NAMED
    with pytest.raises(InputError, match=r"no such split: .* holds train, test"):
        load_examples(folder / "dev")


def test_datasets_folder_with_other_columns(tmp_path, class_label_dataset):
    class_label_dataset.rename_column("text", "review").save_to_disk(tmp_path / "saved")
    with pytest.raises(
        InputError, match=r"no column 'text': .* 'review', .*text= \(--text-column\)"
    ):
        load_examples(tmp_path / "saved")
    assert load_examples(tmp_path / "saved", text="review") == NAMED


def test_damaged_datasets_folder_is_one_line(tmp_path, class_label_dataset):
    class_label_dataset.save_to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "state.json").write_text("{")
    with pytest.raises(InputError, match="saved: not a data set that can be read") as caught:
        load_examples(tmp_path / "saved")
    assert "\n" not in str(caught.value)


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "dataset_info.json").write_text("{}")
    (tmp_path / "state.json").write_text("{}")
    ordinary = builtins.__import__

    def without_datasets(name, *rest, **named):
        if name == "datasets":
            raise ImportError(name)
        return ordinary(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_datasets)
    with pytest.raises(MissingExtra, match=r"pip install 'spanfluence\[datasets\]'"):
        load_examples(tmp_path)


# --- terms -------------------------------------------------------------------------------------------

PLACED = [
    {"text": "Soup, then soup.", "context": "soup", "term": [11, 15]},
    {"text": "Tea.", "context": "tea", "term": None},
]


def write_placed(folder, name, rows=PLACED):
    """The rows in the format that the name tells; its path."""
    path = folder / name
    if name == "folder":
        pytest.importorskip("datasets").Dataset.from_list(rows).save_to_disk(str(path))
    elif path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerow(rows[0])
            for row in rows:
                writer.writerow([*list(row.values())[:-1], row["term"] and json.dumps(row["term"])])
    else:
        lines = [json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) if name == "d.jsonl" else f"[{','.join(lines)}]")
    return path


FORMATS = ("d.jsonl", "d.json", "d.csv", "d.tsv", "d.parquet", "folder")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_carries_terms(tmp_path, name):
    path = write_placed(tmp_path, name)
    assert load_terms(path) == [Span(11, 15), None]
    assert len(load_examples(path)) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_term_outside_its_text_is_said_with_its_row(tmp_path, name):
    path = write_placed(tmp_path, name, [PLACED[0], {**PLACED[1], "term": [4, 900]}])
    with pytest.raises(InputError, match=r"(:2|:3| row 2): term: span \[4, 900\) reaches outside"):
        load_terms(path)


def test_files_that_say_nothing_of_terms(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("text,label\nTea,good\n")
    assert load_terms(path) is None
    path.write_text("term,label\nTea,good\n")
    assert load_terms(path, text="term") is None, "the user reads that column as something else"
    path.write_text("text,term\nTea,\n")
    assert load_terms(path) is None
    for content, says in (
        ("text,term\nTea,tea\n", "d.csv:2: term: term must be JSON.*rename the column"),
        ("text,term\nTea,5\n", "d.csv:2: term: a span is a pair"),
        ("text,term,term\nTea,,\n", "d.csv:1: two columns are named 'term'"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=says):
            load_terms(path)
    assert load_examples(path)[0].text == "Tea", "training needs no terms"
