#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a catalog apart into what `portcullis schema import` makes one of, and makes it anew.

    tools/catalog_inputs.py build/release/portcullis            # the catalog of src/api/data, made anew in its place
    tools/catalog_inputs.py build/release/portcullis --check    # says whether that would change it, and changes nothing

Discovery, columns and OpenAPI documents are those of the committed file; types, additions and facts come from
the sources beside it. A change of go-facts.txt, feature-gated.json or legacy-kinds.json needs no recordings this way.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

DATA = pathlib.Path(__file__).resolve().parent.parent / "src/api/data"
CATALOG = DATA / "kubernetes-1.36.catalog"
ADDITIONS = [DATA / name for name in ("feature-gated.json", "legacy-kinds.json", "meta-kinds.json")]


def sections(data):
    """Name and text of each section."""
    at = data.index(b"\n") + 1
    while at < len(data):
        end = data.index(b"\n", at)
        name, packed, _ = data[at:end].split(b" ")
        at = end + 1 + int(packed)
        yield name.decode(), zlib.decompress(data[end + 1:at], -15)


def group_version(group, version):
    return f"{group}/{version}" if group else version


def response_kind(kind):
    return dict(zip(("group", "version", "kind"), kind))


def discovered(resource):
    """An entry of aggregated discovery."""
    entry = {"resource": resource["name"], "singularResource": resource["singular"],
             "scope": "Namespaced" if resource.get("namespaced") else "Cluster",
             "verbs": resource["verbs"].split(","), "responseKind": response_kind(resource["kind"])}
    entry.update({key: resource[key] for key in ("shortNames", "categories") if key in resource})
    entry["subresources"] = [{"subresource": name, "verbs": verbs.split(","), "responseKind": response_kind(kind)}
                             for name, verbs, kind in resource.get("subresources", [])]
    return entry


def inputs(catalog):
    """Discovery and columns that a server would have answered, without what the additions add."""
    added = {(group["metadata"]["name"], version["version"], resource["resource"])
             for path in ADDITIONS for group in json.loads(path.read_text())["groups"]
             for version in group["versions"] for resource in version["resources"]}
    roots = {"/api": {"items": []}, "/apis": {"items": []}}
    legacy, by_default, columns = {}, {}, {}
    for group in catalog["groups"]:
        versions = []
        for version in group["versions"]:
            found = [r for r in catalog["resources"] if (r["group"], r["version"]) == (group["name"], version)
                     and (r["group"], r["version"], r["name"]) not in added]
            if not found:
                continue
            name = group_version(group["name"], version)
            versions.append({"version": version, "resources": [discovered(r) for r in found]})
            legacy[name] = {"kind": "APIResourceList", "groupVersion": name, "resources": [
                {"name": r["name"], "kind": r["kind"][2], "storageVersionHash": r.get("hash", "")} for r in found]}
            by_default[name] = [r["name"] for r in found if not r.get("optIn")]
            columns.update({f"{name}/{r['name']}": [
                dict(zip(("name", "type", "format", "priority", "description"), column)) for column in r["columns"]]
                for r in found if "columns" in r})
        if versions:
            roots["/apis" if group["name"] else "/api"]["items"].append(
                {"metadata": {"name": group["name"]}, "versions": versions})
    return {"aggregated": roots, "legacy": legacy, "servedByDefault": by_default}, columns


def made_anew(program, directory):
    read = dict(sections(CATALOG.read_bytes()))
    discovery, columns = inputs(json.loads(read["catalog"]))
    for name, text in (("discovery", json.dumps(discovery)), ("columns", json.dumps(columns)),
                       ("openapi-v2", read["openapi/v2"].decode()),
                       ("openapi-v3", '{"documents":%s}' % read["openapi/v3"].decode())):
        (directory / f"{name}.json").write_text(text)
    output = directory / "catalog"
    subprocess.run([program, "schema", "import", f"--discovery={directory}/discovery.json",
                    f"--openapi-v2={directory}/openapi-v2.json", f"--openapi-v3={directory}/openapi-v3.json",
                    f"--table-columns={directory}/columns.json", *[f"--additions={path}" for path in ADDITIONS],
                    f"--go-facts={DATA}/go-facts.txt", f"--output={output}"], check=True, stdout=subprocess.DEVNULL)
    return output.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        catalog = made_anew(options.program, pathlib.Path(directory))
    same = catalog == CATALOG.read_bytes()
    print(f"{CATALOG.name}: {len(catalog)} bytes, {'as committed' if same else 'changed'}")
    if options.check:
        return 0 if same else 1
    if not same:
        CATALOG.write_bytes(catalog)
    return 0


if __name__ == "__main__":
    sys.exit(main())
