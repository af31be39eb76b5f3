"""Data room: files of many kinds become `Example`s, and back.

files      load_examples, load_terms: one door for every format
saving     save_examples, fingerprint
mams       the MAMS aspect-term files
sentihood  the SentiHood files
fetch      checked download of both
"""

from __future__ import annotations

from spanfluence.data.files import load_examples, load_terms
from spanfluence.data.saving import fingerprint, save_examples

__all__ = ["fingerprint", "load_examples", "load_terms", "save_examples"]
