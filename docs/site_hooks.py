"""What `make docs` does beside rendering docs/: pages that are not files there.

CONTRIBUTING.md and CHANGELOG.md are at the root of the repository, where they are looked
for; the site has them too. The pages of the API are made by `dev/make_api_pages.py`, from
the code as it is when the site is built.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FROM_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for source, page in FROM_ROOT.items():
        text = (ROOT / source).read_text().replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    sys.path.insert(0, str(ROOT / "dev"))
    from make_api_pages import api_pages  # noqa: PLC0415 - it is in dev/

    for page, text in api_pages().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links at the root's pages to their copies on the site."""
    for source, page in FROM_ROOT.items():
        markdown = re.sub(rf"\]\(((?:\.\./)*)\.\./{source}", rf"](\g<1>{page}", markdown)
    return markdown
