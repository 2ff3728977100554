"""For mkdocs: links from docs/ to other files of the repository, which a site does not have.

Where mkdocs.yml has a `repo_url` they lead there; without one the path is shown beside the text.
"""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return the page's text with links that leave docs/ put differently."""
    folder = posixpath.dirname(page.file.src_uri)
    parts = _FENCE.split(markdown)
    return "".join(
        part if part.startswith("```") else _outside(part, folder, config.get("repo_url"))
        for part in parts
    )


def _outside(text: str, folder: str, repository: str | None) -> str:
    def put(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, match[2]))
        if path == "docs" or path.startswith("docs/"):
            return match[0]
        if repository:
            return f"[{match[1]}]({repository.rstrip('/')}/blob/main/{path})"
        shown = match[1].strip("`")
        return f"`{path}`" if shown in path else f"{match[1]} (`{path}`)"

    return _LINK.sub(put, text)
