"""Where the public data sets live, and the size and SHA-256 that each of their files must have."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass

BASE_URL = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of a data set: its path in the repository, and what it must be."""

    path: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """Its name in the user's folder."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class PublicDataset:
    """A repository at a fixed commit. The licence file stands last, so that the data comes first."""

    repository: str
    commit: str
    files: tuple[PublicFile, ...]

    def url(self, file: PublicFile, base_url: str = BASE_URL) -> str:
        """Where the file is downloaded from."""
        path = urllib.parse.quote(f"{self.repository}/{self.commit}/{file.path}")
        return f"{base_url.rstrip('/')}/{path}"


DATASETS = {
    "mams": PublicDataset(
        repository="siat-nlp/MAMS-for-ABSA",
        commit="cddcdb0f423b3fdb2c76b70744737abed3a00d17",
        files=(
            PublicFile(
                path="data/MAMS-ATSA/raw/train.xml",
                size=1_641_623,
                sha256="26ba39142b28169ebc80408294f4e27493bd1e127c6aa2e85ab4bc750bf8017a",
            ),
            PublicFile(
                path="data/MAMS-ATSA/raw/val.xml",
                size=195_718,
                sha256="5b7d225e2f9482a3814f15aed04ff8323105171a47d22d9899d871c4e0ba86ca",
            ),
            PublicFile(
                path="data/MAMS-ATSA/raw/test.xml",
                size=196_660,
                sha256="f1a5f53b785335e9c57a1f82b1415026f821040b9e9662a2e467d47a54f20aa9",
            ),
            PublicFile(
                path="LICENSE",
                size=11_324,
                sha256="50e6751797c50dedd75ef1b8a0d9e42f5f8472e9fbce91f34718e9f97b0c780a",
            ),
        ),
    ),
    "sentihood": PublicDataset(
        repository="uclnlp/jack",
        commit="9e5ffbd4fb2b0bd6b816fe6e14b9045ac776bb8e",
        files=(
            PublicFile(
                path="data/sentihood/sentihood-train.json",
                size=1_014_712,
                sha256="7067022c589efb72f03acb73f6da6720e4297a174bf4fd1401a57698421b7461",
            ),
            PublicFile(
                path="data/sentihood/sentihood-dev.json",
                size=253_089,
                sha256="2f11740fd921d7738295cd2459f7917fc8e10bf1437485bc424484bb503c6b29",
            ),
            PublicFile(
                path="data/sentihood/sentihood-test.json",
                size=504_692,
                sha256="d3a297b550bc8bf4f2bb13e23766082bfd4c2deaf36d4faaa9677a948a1478f1",
            ),
            PublicFile(
                path="LICENSE",
                size=1_076,
                sha256="2b77d34b27637d725506a0dd371d21432f8802dd95de745d3ee7d45bc21c0f14",
            ),
        ),
    ),
}
