#!/usr/bin/env python3
"""Writes what romer is built from: an SBOM in CycloneDX 1.5, and the licence texts of the crates.

usage: cargo metadata --format-version 1 --locked --filter-platform TARGET | bill-of-materials.py SBOM LICENCES

Only crates that are linked into the program are listed: normal dependencies of the package `romer`, without those of
build scripts and tests, and without crates of procedural macros. The output depends on Cargo.lock and on SOURCE_DATE_EPOCH only.
"""
import datetime
import json
import os
import pathlib
import re
import sys

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?$", re.IGNORECASE)


def linked(metadata):
    """The packages that are linked into `romer`, by id, with the ids that each depends on."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(one["id"] for one in metadata["packages"] if one["name"] == "romer" and one["source"] is None)

    def is_macro(package):
        return any("proc-macro" in target["kind"] for target in packages[package]["targets"])

    found, waiting = {}, [root]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        normal = [
            one["pkg"]
            for one in nodes[package]["deps"]
            if any(kind["kind"] is None for kind in one["dep_kinds"]) and not is_macro(one["pkg"])
        ]
        found[package] = sorted(normal)
        waiting.extend(normal)
    return root, packages, found


def purl(package):
    """The package URL of a crate."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    """A crate as CycloneDX describes it."""
    described = {
        "type": "application" if package["name"] == "romer" else "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package["description"]:
        described["description"] = " ".join(package["description"].split())
    if package["license"]:
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["repository"]:
        described["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def checksums_of(lock):
    """The checksums of Cargo.lock by name and version."""
    blocks = (dict(re.findall(r'^(name|version|checksum) = "(.*)"$', block, re.MULTILINE))
              for block in lock.split("[[package]]"))
    return {(one["name"], one["version"]): one["checksum"] for one in blocks if "checksum" in one}


def bill(root, packages, found, checksums, epoch):
    """The SBOM."""
    time = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    parts = sorted((packages[one] for one in found if one != root), key=purl)
    graph = [{"ref": purl(packages[one]), "dependsOn": sorted(purl(packages[other]) for other in uses)}
             for one, uses in found.items()]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[root], checksums),
        },
        "components": [component(package, checksums) for package in parts],
        "dependencies": sorted(graph, key=lambda one: one["ref"]),
    }


def texts(package):
    """The licence texts that a crate contains."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(one for one in folder.iterdir() if one.is_file() and LICENCE_FILE.match(one.name))
    return [one.read_text(errors="replace").strip() for one in files]


def licences(root, packages, found):
    """All licence texts, each once, under the crates that have it. Crates without a text have their expression."""
    by_text, without = {}, []
    for package in sorted((packages[one] for one in found), key=purl):
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']} ({package['license']})"
        own = texts(package)
        for text in own:
            by_text.setdefault(text, []).append(name)
        if not own:
            without.append(name)
    rule = "=" * 80
    parts = ["Crates that are linked into romer, and their licences.\n"]
    for text, names in by_text.items():
        parts.append("\n".join([rule, *names, rule, text, ""]))
    if without:
        parts.append("\n".join([rule, "These crates contain no licence text; their licence is the one in brackets:",
                                *without, ""]))
    return "\n".join(parts)


def main():
    """Reads the metadata from standard input."""
    sbom, texts_file = sys.argv[1:]
    metadata = json.load(sys.stdin)
    root, packages, found = linked(metadata)
    lock = pathlib.Path(metadata["workspace_root"], "Cargo.lock").read_text()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    document = bill(root, packages, found, checksums_of(lock), epoch)
    pathlib.Path(sbom).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    pathlib.Path(texts_file).write_text(licences(root, packages, found))


if __name__ == "__main__":
    main()
