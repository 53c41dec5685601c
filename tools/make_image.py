#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an OCI image of the static program, without a container engine.

    tools/make_image.py --build build/release --output portcullis-image.tar

The archive is an OCI image layout (oci-layout, index.json, blobs/), with a manifest.json beside it, so
that `podman load`, `docker load` and `skopeo copy oci-archive:` take it. It holds one layer: the program,
a user of its own, the licences, and the certificates of public CAs if this machine has them. Two runs
give the same bytes: times are the commit's.
"""

import argparse
import gzip
import hashlib
import io
import json
import pathlib
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
USER = 65532
AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
DATA = "var/lib/portcullis"


def told_by(program):
    return json.loads(subprocess.run([program, "version", "-o", "json"], capture_output=True, check=True).stdout)


def seconds(date):
    return int(subprocess.run(["date", "-d", date, "+%s"], capture_output=True, text=True, check=True).stdout)


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


def image(program, third_party):
    """The files of the layout."""
    version = told_by(program)
    time = seconds(version["buildDate"])
    plain = layer(program, third_party, time)
    packed = gzip.compress(plain, 9, mtime=0)
    labels = {
        "org.opencontainers.image.title": "portcullis",
        "org.opencontainers.image.description": "The admission control of Kubernetes as one program",
        "org.opencontainers.image.version": version["version"],
        "org.opencontainers.image.revision": version["gitCommit"],
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    architecture = version["platform"].split("/")[1]
    config = json.dumps({
        "created": version["buildDate"], "architecture": architecture, "os": "linux",
        "config": {
            "User": f"{USER}:{USER}", "ExposedPorts": {"6443/tcp": {}}, "Env": ["PATH=/usr/bin"], "WorkingDir": f"/{DATA}",
            "Entrypoint": ["/usr/bin/portcullis"],
            "Cmd": ["serve", f"--data-dir=/{DATA}", "--bind-address=0.0.0.0"],
            "Labels": labels, "StopSignal": "SIGTERM"},
        "rootfs": {"type": "layers", "diff_ids": [digest(plain)]},
        "history": [{"created": version["buildDate"], "created_by": "tools/make_image.py"}]}, sort_keys=True).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": len(config)},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest(packed), "size": len(packed)}],
        "annotations": labels}, sort_keys=True).encode()
    tag = f"portcullis:{version['version']}"
    index = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest(manifest),
                       "size": len(manifest), "platform": {"architecture": architecture, "os": "linux"},
                       "annotations": {"org.opencontainers.image.ref.name": version["version"],
                                       "io.containerd.image.name": f"docker.io/library/{tag}"}}]}, sort_keys=True).encode()

    def blob(content):
        return "blobs/sha256/" + digest(content).split(":")[1]

    # Of older container engines, which do not read index.json.
    legacy = json.dumps([{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(packed)]}]).encode()
    return time, {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, "manifest.json": legacy,
                  blob(config): config, blob(manifest): manifest, blob(packed): packed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--program", type=pathlib.Path, help="default: portcullis-static of --build")
    parser.add_argument("--output", type=pathlib.Path, default="portcullis-image.tar")
    args = parser.parse_args()
    third_party = subprocess.run([ROOT / "tools/third_party.py", "--build", args.build, "--texts"], capture_output=True,
                                 check=True).stdout
    time, files = image((args.program or args.build / "portcullis-static").resolve(), third_party)
    archive = Archive(time)
    for folder in ("blobs", "blobs/sha256"):
        archive.add(folder, mode=0o755)
    for name, content in sorted(files.items()):
        archive.add(name, content)
    content = archive.close()
    args.output.write_bytes(content)
    print(f"{args.output}: {len(content) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
