#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Begins a new admission plugin: the folder with its header, source and two scenarios.

    tools/new_plugin.py DenyLatestTag
    tools/new_plugin.py DenyLatestTag --root <a copy of the tree>

The plugin refuses pods with the annotation example.com/refuse, so that it builds and its tests pass at
once; put its own rule in the place of that one. docs/adding-a-plugin.md goes on from here.
"""

import argparse
import pathlib
import re
import sys

HEADER = """\
// SPDX-License-Identifier: Apache-2.0

// {name} keeps … (why an operator wants it, and what it costs).
//
// Validates: refuses pods with the annotation example.com/refuse.
// Ignores: everything but pods.
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::{folder} {{

extern const admission::PluginInfo kPlugin;

}}  // namespace portcullis::plugins::{folder}
"""

SOURCE = """\
// SPDX-License-Identifier: Apache-2.0

#include "plugins/{folder}/{folder}.h"

#include "admission/errors.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::{folder} {{
namespace {{

class {name} final : public admission::Plugin {{
 public:
  explicit {name}(const admission::PluginContext&) {{}}

  base::Status Validate(const admission::Request& request) const override {{
    if (!request.Is("", "pods")) return base::OkStatus();
    if (!request.object()["metadata"]["annotations"].Has("example.com/refuse")) {{
      return base::OkStatus();
    }}
    return admission::Forbidden(request, "the annotation example.com/refuse asks for it");
  }}
}};

}}  // namespace

constinit const admission::PluginInfo kPlugin = {{
    .name = "{name}",
    .summary = "refuses pods with the annotation example.com/refuse",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .by_default = admission::Default::kOff,
    .create = &common::Make<{name}>,
}};

}}  // namespace portcullis::plugins::{folder}
"""

REQUEST = """\
request:
  operation: CREATE
  resource: pods
  object:
    apiVersion: v1
    kind: Pod
    metadata: {{name: p, namespace: a{annotations}}}
    spec: {{containers: [{{name: c, image: web}}]}}
"""

ALLOWED = "description: a pod without the annotation is allowed\n" + REQUEST + "expect: allowed\n"
REFUSED = (
    "description: a pod with the annotation is refused, and the message says why\n"
    + REQUEST
    + "expect:\n  refused: 'pods \"p\" is forbidden: the annotation example.com/refuse asks for it'\n  code: 403\n"
)


def folder_of(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="as users write it: DenyLatestTag")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    args = parser.parse_args()
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", args.name):
        sys.exit(f"{args.name}: a plugin's name is in CamelCase")
    folder = folder_of(args.name)
    path = args.root / "src" / "plugins" / folder
    if path.exists():
        sys.exit(f"{path} exists already")
    (path / "testdata").mkdir(parents=True)
    files = {
        f"{folder}.h": HEADER,
        f"{folder}.cc": SOURCE,
        "testdata/allows_other_pods.yaml": ALLOWED.replace("{annotations}", ""),
        "testdata/refuses_annotated_pods.yaml": REFUSED.replace(
            "{annotations}", ", annotations: {{example.com/refuse: 'yes'}}"),
    }
    for name, text in files.items():
        (path / name).write_text(text.format(name=args.name, folder=folder))
        print(path / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
