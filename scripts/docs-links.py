"""A hook of MkDocs: pages that link to Markdown outside docs/ (SECURITY.md, validation/...) find it on the site as well."""

import os
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
OUTSIDE = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "validation"]


def outside_pages():
    """The paths of the pages outside docs/, from the root of the repository."""
    for name in OUTSIDE:
        path = os.path.join(ROOT, name)
        if os.path.isfile(path):
            yield name
        for folder, _, files in os.walk(path):
            yield from (os.path.relpath(os.path.join(folder, file), ROOT) for file in files if file.endswith(".md"))


def on_files(files, config):
    for page in outside_pages():
        files.append(File.generated(config, page, abs_src_path=os.path.join(ROOT, page)))
    return files


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    known = set(files.src_uris)
    # Where the page stands in the repository.
    origin = source if source in set(outside_pages()) else os.path.join("docs", source)

    def moved(match):
        target = os.path.normpath(os.path.join(os.path.dirname(origin), match[1]))
        if target == "README.md":
            target = "docs/README.md"
        target = target.removeprefix("docs/")
        if target not in known:
            return match[0]
        return f"]({os.path.relpath(target, os.path.dirname(source) or '.')}{match[2] or ''})"

    return LINK.sub(moved, markdown)
