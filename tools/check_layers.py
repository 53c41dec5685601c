#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every #include in src/ stays within what its folder may see.

The truth is the pc_module() line of each folder: an include needs the other module in its own DEPS, not
merely in those of a dependency, and a module in DEPS is included somewhere. A folder never includes one
that (transitively) depends on it. Besides: a header below internal/ is included only from the folder
that holds internal/ or below it, one below testing/ only by tests, a plugin never by another plugin, and
each third-party library only by the modules that wrap it.

The README.md of a module has a line "May include: `base`, `json`." which is that list; --fix writes it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.M)
MODULE = re.compile(r"pc_module\(\s*(\w+)([^)]*)\)")
PROGRAM = re.compile(r"target_link_libraries\(\s*\w+ PRIVATE ([^)]*)\)")
MAY_INCLUDE = re.compile(r"^May include:.*$", re.M)

# Who may name whose headers (anchor: "third-party headers appear in one wrapping module").
WRAPPERS = {
    "boost/asio": {"net"}, "boost/beast": {"net"}, "nghttp2/": {"net"}, "openssl/": {"net", "pki", "authn", "base", "store"},
    "re2/": {"base", "cel", "kube_cel", "api", "registry", "offline"}, "yaml.h": {"json"}, "sqlite3.h": {"store"}, "sodium/": {"store"},
    "spdlog/": {"base"}, "CLI/": {"cli"}, "libdeflate.h": {"api", "net", "server", "store"},
}

# What a module may not include although it depends, through others, on the module that holds it.
REFUSED = {"engine": ("net/", "server/"), "offline": ("net/", "server/")}


def declared():
    """{module: direct dependencies} from the CMakeLists of each folder."""
    modules = {}
    for cmake in sorted(SRC.glob("*/CMakeLists.txt")):
        found = MODULE.search(cmake.read_text())
        if not found:  # a folder with a build of its own: main() of a program
            modules[cmake.parent.name] = PROGRAM.search(cmake.read_text()).group(1).split()
            continue
        words = found.group(2).split()
        deps, taking = [], False
        for word in words:
            if word in ("DEPS", "LIBS"):
                taking = word == "DEPS"
            elif taking:
                deps.append(word)
        modules[found.group(1)] = deps
    return modules


def closure(modules, name, seen=None):
    seen = set() if seen is None else seen
    for dep in modules.get(name) or []:
        if dep not in seen:
            seen.add(dep)
            closure(modules, dep, seen)
    return seen


def check():
    modules = declared()
    problems = []
    for name in modules:
        if name in closure(modules, name):
            problems.append(f"src/{name}: depends on itself through {modules[name]}")
    used = {name: set() for name in modules}
    for source in sorted([*SRC.rglob("*.cc"), *SRC.rglob("*.h")]):
        path = source.relative_to(SRC)
        module = path.parts[0]
        is_test = source.stem.endswith("_test") or "testing" in path.parts
        for match in INCLUDE.finditer(source.read_text()):
            kind, target = match.groups()
            where = f"src/{path}"
            if kind == "<":
                for prefix, wrappers in WRAPPERS.items():
                    if target.startswith(prefix) and module not in wrappers and not is_test:
                        problems.append(f"{where}: <{target}> is wrapped by {', '.join(sorted(wrappers))}")
                continue
            parts = pathlib.PurePosixPath(target).parts
            if not (SRC / target).exists():
                continue  # generated, or a neighbour outside src/
            other = parts[0]
            used[module].add(other)
            if other != module and other not in modules[module]:
                problems.append(f"{where}: includes {target}, and {other} is not in the DEPS of "
                                f"src/{module}/CMakeLists.txt ({' '.join(modules[module])})")
            for prefix in REFUSED.get(module, ()):
                if target.startswith(prefix) and not is_test:
                    problems.append(f"{where}: {target} is out of bounds for {module}")
            if "internal" in parts:
                home = pathlib.PurePosixPath(*parts[: parts.index("internal")])
                if not str(path).startswith(str(home)):
                    problems.append(f"{where}: {target} is internal to src/{home}")
            if "testing" in parts and not is_test:
                problems.append(f"{where}: {target} is for tests only")
            if other == "plugins" and module == "plugins" and len(parts) > 2 and len(path.parts) > 2:
                if parts[1] not in (path.parts[1], "common"):
                    problems.append(f"{where}: a plugin may not include another plugin ({target})")
    for name, deps in modules.items():
        for dep in deps:
            if dep not in used[name]:
                problems.append(f"src/{name}/CMakeLists.txt: DEPS has {dep}, and nothing in src/{name} includes it")
    return problems


def check_readmes(fix):
    problems = []
    for name, deps in declared().items():
        readme = SRC / name / "README.md"
        if not readme.exists():
            continue  # tools/check_docs.py asks for it
        want = "May include: " + (", ".join(f"`{dep}`" for dep in deps) or "no other module") + "."
        text = readme.read_text()
        lines = MAY_INCLUDE.findall(text)
        if lines == [want]:
            continue
        if fix and lines:
            readme.write_text(MAY_INCLUDE.sub(want, text, count=1))
        else:
            problems.append(f"src/{name}/README.md: wants this line (--fix corrects it): {want}")
    return problems


if __name__ == "__main__":
    found = check_readmes(fix="--fix" in sys.argv[1:]) + check()
    print("\n".join(found))
    sys.exit(1 if found else 0)
