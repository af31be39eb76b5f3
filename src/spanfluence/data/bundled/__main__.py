"""Rewrite the corpus files, or with `--check` compare them: `python -m spanfluence.data.bundled`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spanfluence.data.bundled.corpus import make_corpus


def main(arguments: list[str] | None = None) -> int:
    """Write or check the three files; 0 when done or equal, 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(
        prog="python -m spanfluence.data.bundled",
        description="Make the bundled corpus from its grammar and seeds.",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if files differ"
    )
    parser.add_argument(
        "--to", type=Path, default=Path(__file__).parent, help="folder of the files"
    )
    options = parser.parse_args(arguments)
    differing = []
    for split, content in make_corpus().items():
        path = options.to / f"{split}.jsonl"
        if not options.check:
            path.write_bytes(content.encode())
        elif not path.is_file() or path.read_bytes() != content.encode():
            differing.append(path.name)
    if differing:
        print(f"differs from the grammar: {', '.join(differing)}; run without --check to rewrite")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
