#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an OCI image of the static program, without a container engine.

    tools/make_image.py --build build/release [--build build/release-arm64] --output portcullis-image.tar

The archive is an OCI image layout (oci-layout, index.json, blobs/) with a manifest for each build, and a
manifest.json beside it for the first one, so that `podman load`, `docker load` and `skopeo copy
oci-archive:` take it. Each has one layer: the program, a user of its own, the licences, and the
certificates of public CAs if this machine has them. Two runs give the same bytes: times are the commit's.
"""

import argparse
import gzip
import hashlib
import io
import json
import pathlib
import tarfile

from built import Build, call

ROOT = pathlib.Path(__file__).resolve().parent.parent
USER = 65532
AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
DATA = "var/lib/portcullis"


def seconds(date):
    return int(call("date", "-d", date, "+%s"))


class Archive:
    """A tar whose bytes depend on its contents alone."""

    def __init__(self, time):
        self.bytes, self.time = io.BytesIO(), time
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.USTAR_FORMAT)

    def add(self, name, content=None, mode=0o644, owner=0):
        entry = tarfile.TarInfo(name)
        entry.mtime, entry.mode, entry.uid, entry.gid = self.time, mode, owner, owner
        if content is None:
            entry.type = tarfile.DIRTYPE
            self.tar.addfile(entry)
        else:
            entry.size = len(content)
            self.tar.addfile(entry, io.BytesIO(content))

    def close(self):
        self.tar.close()
        return self.bytes.getvalue()


def layer(program, third_party, time):
    archive = Archive(time)
    folders = ["etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/portcullis",
               "var", "var/lib"]
    for folder in folders:
        archive.add(folder, mode=0o755)
    archive.add("tmp", mode=0o1777)
    archive.add(DATA, mode=0o700, owner=USER)
    archive.add("etc/passwd", f"root:x:0:0:root:/root:/sbin/nologin\nportcullis:x:{USER}:{USER}::/{DATA}:/sbin/nologin\n".encode())
    archive.add("etc/group", f"root:x:0:\nportcullis:x:{USER}:\n".encode())
    if AUTHORITIES.exists():
        archive.add(str(AUTHORITIES)[1:], AUTHORITIES.read_bytes())
    for name in ("LICENSE", "NOTICE"):
        archive.add(f"usr/share/doc/portcullis/{name}", (ROOT / name).read_bytes())
    archive.add("usr/share/doc/portcullis/THIRD-PARTY", third_party)
    archive.add("usr/bin/portcullis", program.read_bytes(), mode=0o755)
    return archive.close()


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def named(content):
    """The name of a blob in the layout."""
    return "blobs/sha256/" + digest(content).split(":")[1]


def described(content, kind, **more):
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest(content), "size": len(content), **more}


def labels_of(version):
    return {
        "org.opencontainers.image.title": "portcullis",
        "org.opencontainers.image.description": "The admission control of Kubernetes as one program",
        "org.opencontainers.image.version": version["version"],
        "org.opencontainers.image.revision": version["gitCommit"],
        "org.opencontainers.image.licenses": "Apache-2.0",
    }


def platform(build, program, version):
    """The config, the manifest and the layer of one architecture."""
    third_party = call(ROOT / "tools/third_party.py", "--build", build.folder, "--texts").encode()
    plain = layer(program, third_party, seconds(version["buildDate"]))
    packed = gzip.compress(plain, 9, mtime=0)
    config = json.dumps({
        "created": version["buildDate"], "architecture": build.architecture, "os": "linux",
        "config": {
            "User": f"{USER}:{USER}", "ExposedPorts": {"6443/tcp": {}}, "Env": ["PATH=/usr/bin"], "WorkingDir": f"/{DATA}",
            "Entrypoint": ["/usr/bin/portcullis"],
            "Cmd": ["serve", f"--data-dir=/{DATA}", "--bind-address=0.0.0.0"],
            "Labels": labels_of(version), "StopSignal": "SIGTERM"},
        "rootfs": {"type": "layers", "diff_ids": [digest(plain)]},
        "history": [{"created": version["buildDate"], "created_by": "tools/make_image.py"}]}, sort_keys=True).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described(config, "config.v1+json"), "layers": [described(packed, "layer.v1.tar+gzip")],
        "annotations": labels_of(version)}, sort_keys=True).encode()
    return config, manifest, packed


def image(builds, version, program=None):
    """The files of the layout."""
    tag = f"portcullis:{version['version']}"
    names = {"org.opencontainers.image.ref.name": version["version"], "io.containerd.image.name": f"docker.io/library/{tag}"}
    files, manifests = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}, []
    for build in builds:
        config, manifest, packed = platform(build, program or build.folder / "portcullis-static", version)
        files |= {named(content): content for content in (config, manifest, packed)}
        manifests.append(described(manifest, "manifest.v1+json", platform={"architecture": build.architecture, "os": "linux"},
                                   annotations=names))
        # For container engines that do not read index.json.
        files.setdefault("manifest.json", json.dumps(
            [{"Config": named(config), "RepoTags": [tag], "Layers": [named(packed)]}]).encode())
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}
    if len(manifests) > 1:
        # One name stands for all platforms: it names an index of them.
        platforms = json.dumps({**index, "manifests": [{**part, "annotations": {}} for part in manifests]}, sort_keys=True).encode()
        files[named(platforms)] = platforms
        manifests = [described(platforms, "index.v1+json", annotations=names)]
    files["index.json"] = json.dumps({**index, "manifests": manifests}, sort_keys=True).encode()
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", help="may be repeated; default: build/release")
    parser.add_argument("--program", type=pathlib.Path, help="default: portcullis-static of --build; of one build only")
    parser.add_argument("--output", type=pathlib.Path, default="portcullis-image.tar")
    args = parser.parse_args()
    builds = [Build(folder) for folder in args.build or [ROOT / "build/release"]]
    if args.program and len(builds) > 1:
        parser.error("--program is for one --build")
    version = builds[0].version(args.program or builds[0].folder / "portcullis-static")
    files = image(builds, version, args.program)
    archive = Archive(seconds(version["buildDate"]))
    for folder in ("blobs", "blobs/sha256"):
        archive.add(folder, mode=0o755)
    for name, content in sorted(files.items()):
        archive.add(name, content)
    content = archive.close()
    args.output.write_bytes(content)
    print(f"{args.output}: {len(content) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
