#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares /metrics of a kube-apiserver and of Portcullis after the same traffic: which metrics there are, their types, help
texts, labels, values of labels, and buckets.

    tests/reference/metrics.py --reference-binary PATH/kube-apiserver --etcd PATH/etcd
    tests/reference/metrics.py --reference https://127.0.0.1:6443 --ours https://127.0.0.1:7443
    tests/reference/metrics.py … --record tests/reference/recorded/metrics.json

Servers that run already must be new and empty. What docs/metrics.md names as left out is not told again (--all tells it). Values of
labels are of the series that the traffic has changed. --counts tells counters that it has raised by another number.
--record writes what the reference's metrics are, to which tests/integration/recorded_metrics.py holds Portcullis. Exits with 1 if
anything differs."""

import argparse
import collections
import contextlib
import fnmatch
import json
import pathlib
import re
import sys
import tempfile

import metrics_traffic
import servers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEFT_OUT = ROOT / "docs" / "metrics.md"
SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
# Labels whose values are of the machine or of one build.
OWN_VALUES = {"apiserver_id_hash", "host", "git_commit", "git_version", "build_date", "go_version", "compiler", "platform", "git_tree_state", "hash"}
# Labels that the downstream builds of OpenShift add.
DOWNSTREAM_LABELS = {"system_client", "ocp_namespace"}


class Metric:
    def __init__(self, help_text):
        self.help, self.type, self.labels, self.buckets = help_text, "", set(), []
        self.series = {}  # labels as sorted pairs -> value, of histograms and summaries the count


def parse(page):
    """{name: Metric}"""
    found, current = {}, None
    for line in page.splitlines():
        if line.startswith("# HELP "):
            name, _, text = line[7:].partition(" ")
            current = found[name] = Metric(text)
        elif line.startswith("# TYPE "):
            current.type = line.rpartition(" ")[2]
        elif sample := SAMPLE.match(line):
            take_sample(current, name, sample)
    for metric in found.values():
        metric.buckets = sorted(set(metric.buckets))
    return found


def take_sample(metric, name, sample):
    labels = dict(LABEL.findall(sample[2] or ""))
    for downstream in DOWNSTREAM_LABELS:
        labels.pop(downstream, None)
    if metric.type == "histogram":
        bound = labels.pop("le", None)
        if bound is not None:
            metric.buckets.append(float(bound))
    elif metric.type == "summary":
        labels.pop("quantile", None)
    metric.labels |= labels.keys()
    if sample[1] == name + "_count" or metric.type not in SUFFIXES:
        key = tuple(sorted(labels.items()))
        metric.series[key] = metric.series.get(key, 0) + float(sample[3])


def facts(metric):
    """What of a metric is the same in every server."""
    found = {"type": metric.type, "help": metric.help, "labels": sorted(metric.labels)}
    if metric.type == "histogram":
        found["buckets"] = [bound for bound in metric.buckets if bound != float("inf")]
    return found


def left_out():
    """Patterns of the names that docs/metrics.md has in its table of what is left out."""
    section = LEFT_OUT.read_text().partition("## Left out")[2] if LEFT_OUT.exists() else ""
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]


def is_left_out(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def moved(before, after):
    """{series: by how much the traffic has raised it}, of those that it has changed."""
    old = before.series if before else {}
    return {key: value - old.get(key, 0) for key, value in after.series.items() if key not in old or old[key] != value}


def compare(theirs, ours, patterns, counts):
    """[(name, what differs)]; theirs and ours are pages before and after the traffic."""
    rows = []
    for name in sorted(theirs[1].keys() | ours[1].keys()):
        a, b = theirs[1].get(name), ours[1].get(name)
        if a is None or b is None:
            if a is None:
                rows.append((name, f"only here: {b.type}"))
            elif not is_left_out(name, patterns):
                rows.append((name, f"missing: {a.type} {{{', '.join(sorted(a.labels))}}} {a.help}"))
            continue
        for what, value in facts(a).items():
            if value != facts(b).get(what):
                rows.append((name, f"{what}: {value} | {facts(b).get(what)}"))
        rows += [(name, row) for row in compare_series(*(moved(side[0].get(name), side[1][name]) for side in (theirs, ours)), counts)]
    return rows


def compare_series(a, b, counts):
    values = [collections.defaultdict(set), collections.defaultdict(set)]
    for side, series in zip(values, (a, b)):
        for key in series:
            for label, value in key:
                side[label].add(value)
    for label in sorted(values[0].keys() & values[1].keys() - OWN_VALUES):
        theirs, ours = values[0][label] - values[1][label], values[1][label] - values[0][label]
        if theirs or ours:
            yield f"{label}: only there {sorted(theirs)} only here {sorted(ours)}"
    if counts:
        for key in sorted(a.keys() | b.keys()):
            if a.get(key) != b.get(key):
                yield f"{dict(key)}: {a.get(key)} | {b.get(key)}"


def traffic(url, arguments, folder):
    """The parsed pages before and after the traffic."""
    hooks, bundle = metrics_traffic.hook_server(folder)
    one = metrics_traffic.Traffic(url, arguments.token, hooks.url, bundle, arguments.certificate)
    before = parse(one.page())
    one.send()
    after = parse(one.page())
    hooks.server.shutdown()
    return before, after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", help="address of a kube-apiserver")
    parser.add_argument("--ours", help="address of Portcullis")
    parser.add_argument("--token", default=servers.TOKEN)
    parser.add_argument("--reference-binary", type=pathlib.Path)
    parser.add_argument("--ours-binary", type=pathlib.Path, default=ROOT / "build/release/portcullis")
    parser.add_argument("--etcd", default="etcd")
    parser.add_argument("--flags", action="append", default=[], help="another flag of both")
    parser.add_argument("--all", action="store_true", help="tell what docs/metrics.md has as left out, too")
    parser.add_argument("--counts", action="store_true", help="tell numbers that differ, too")
    parser.add_argument("--only", default="*", help="pattern of the names of metrics")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    arguments.admission, arguments.release, arguments.certificate = True, None, None
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="metrics-"))
        reference, ours, _ = stack.enter_context(servers.started(arguments))
        theirs = traffic(reference, arguments, folder)
        mine = traffic(ours, arguments, folder)
    if arguments.record:
        recorded = {name: facts(metric) for name, metric in sorted(theirs[1].items())}
        arguments.record.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in recorded.items()) + "\n}\n")
    patterns = [] if arguments.all else left_out()
    rows = [row for row in compare(theirs, mine, patterns, arguments.counts) if fnmatch.fnmatchcase(row[0], arguments.only)]
    for name, row in rows:
        print(f"{name}\n    {row}")
    print(f"{len(theirs[1])} metrics there, {len(mine[1])} here; {len(rows)} differences")
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
