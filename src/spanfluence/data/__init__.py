"""Data room: files of many kinds become `Example`s, and back.

files      load_examples, load_terms: one door for every format
saving     save_examples, fingerprint, content_fingerprint
mams       the MAMS aspect-term files
sentihood  the SentiHood files
fetch      checked download of both
"""

from __future__ import annotations

from spanfluence.data.files import load_examples, load_terms
from spanfluence.data.saving import content_fingerprint, fingerprint, save_examples

__all__ = ["content_fingerprint", "fingerprint", "load_examples", "load_terms", "save_examples"]
