#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is published installs where nothing else is, and answers kubectl: the archive and the image in an
empty root, the archive in an old Debian, the package in a bare Debian 12, the pipeline script on this machine.

    tests/packaging/packages.py --build build/release [--cross build/release-arm64] [--only NAME]

Roots are entered with chroot, which takes root; the bare Debian comes from debootstrap and the mirror that
apt uses here. With --cross archive, image and package of another architecture are tested, too, with qemu;
that package is unpacked with what it depends on, not installed. What cannot be had is a SKIP line and exit
status 77.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools/kubectl"), str(ROOT / "tools")]
import kubectl  # noqa: E402
from built import Build  # noqa: E402
from make_sysroot import fill  # noqa: E402

SKIP = 77
NAMESPACES = "default\nkube-node-lease\nkube-public\nkube-system\n"
LARGEST_PROGRAM = 20 << 20
SECONDS = 10  # from the first command typed to the first answer


class Skip(Exception):
    pass


def call(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **{"timeout": 600, **more})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def check(what, holds):
    if not holds:
        raise AssertionError(what)


def names_of_namespaces(client, config):
    return call(client, f"--kubeconfig={config}", "get", "ns", "--no-headers", "-o", "custom-columns=NAME:.metadata.name")


def serve_in(root, words, args, user=None):
    """Starts the server in the root, asks it with kubectl from outside, stops it; the seconds that took."""
    begin = time.monotonic()
    process = subprocess.Popen(words, preexec_fn=lambda: enter(root, user), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={"PATH": "/usr/bin:/bin"}, text=True)
    config = root / "tmp/kubeconfig"
    try:
        while not config.exists():
            check(f"the server ended: {process.poll()} {process.stdout.read() if process.poll() is not None else ''}",
                  process.poll() is None and time.monotonic() < begin + 30)
            time.sleep(0.01)
        check("the namespaces are others", names_of_namespaces(args.client, config) == NAMESPACES)
        took = time.monotonic() - begin
    finally:
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=30)[0]
    check(f"the server ended with {process.returncode}: {output}", process.returncode == 0)
    return took


def enter(root, user):
    os.chroot(root)
    os.chdir("/")
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def within(root, words, build):
    """The words that run a program in the root: with qemu beside it if it is of another architecture."""
    if not build.sysroot:
        return words
    qemu = build.cache.get("PC_QEMU", "")
    if "static" not in pathlib.Path(qemu).name:
        raise Skip("there is no qemu-user-static")
    shutil.copy2(qemu, root / "qemu")
    return ["/qemu", *words]


def released(args, build, kind):
    """The file that make_release.py has made."""
    pattern = {"archive": f"*-linux-{build.architecture}.tar.gz", "deb": f"*_{build.architecture}.deb", "image": "*-image.tar"}[kind]
    return next(args.dist.glob(pattern)).resolve()


def need_root():
    if os.geteuid() != 0:
        raise Skip("chroot takes root")


SERVE = ["serve", "--store=memory", "--secure-port=0", "--data-dir=/tmp/data", "--write-kubeconfig=/tmp/kubeconfig"]


def archive(args, folder, build):
    """Unpacked into a root that holds nothing else, not even a C library."""
    need_root()
    begin = time.monotonic()
    root = folder / "root"
    (root / "tmp").mkdir(parents=True)
    file = released(args, build, "archive")
    call("tar", "-xzf", file, "-C", root, "--strip-components=1")
    program = root / "bin/portcullis"
    check(f"the program has {program.stat().st_size} bytes", program.stat().st_size <= LARGEST_PROGRAM)
    check("the program is dynamic", "interpreter" not in call(build.readelf, "-l", program))
    for name in ("share/man/man1/portcullis-serve.1", "share/doc/portcullis/LICENSE", "share/doc/portcullis/THIRD-PARTY",
                 "share/bash-completion/completions/portcullis"):
        check(f"the archive has no {name}", (root / name).stat().st_size > 100)
    serve_in(root, within(root, ["/bin/portcullis", *SERVE], build), args)
    took = time.monotonic() - begin
    check(f"{took:.1f} s from unpacking to the answer", took < SECONDS or build.sysroot)
    # A command that needs no /proc, and one in a folder of another name.
    (root / "elsewhere").mkdir()
    shutil.move(program, root / "elsewhere/portcullis")
    told = subprocess.run(within(root, ["/elsewhere/portcullis", "version", "-o", "json"], build),
                          preexec_fn=lambda: enter(root, 65534), capture_output=True, check=True, env={})
    version = json.loads(told.stdout)
    check("another version", version["version"] == args.version)
    check(f"another platform: {version['platform']}", version["platform"] == f"linux/{build.architecture}")
    return f"{file.name}: empty root, {took:.2f} s from tar to the answer of kubectl"


def blob_name(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def blob(files, descriptor):
    content = files[blob_name(descriptor)]
    check(f"the size of {descriptor['digest']}", len(content) == descriptor["size"])
    check(f"the digest {descriptor['digest']}", "sha256:" + hashlib.sha256(content).hexdigest() == descriptor["digest"])
    return content


def image(args, folder, build):
    """A layout as the specification has it; its layer, its user and its command run in a root of their own."""
    need_root()
    file = released(args, build, "image")
    with tarfile.open(file) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    check("oci-layout", json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"})
    index = json.loads(files["index.json"])
    named = {"oci-layout", "index.json", "manifest.json"}
    check("the index", index["schemaVersion"] == 2 and len(index["manifests"]) == 1)
    if len(args.builds) > 1:  # the one name stands for an index of platforms
        check("the index", index["manifests"][0]["mediaType"] == index["mediaType"])
        named.add(blob_name(index["manifests"][0]))
        index = json.loads(blob(files, index["manifests"][0]))
    platforms = [part["platform"] for part in index["manifests"]]
    check(f"the platforms: {platforms}", platforms == [{"os": "linux", "architecture": each.architecture} for each in args.builds])
    for part in index["manifests"]:
        manifest = json.loads(blob(files, part))
        named |= {blob_name(each) for each in (part, manifest["config"], *manifest["layers"])}
    check("files that nothing names", set(files) == named)
    part = index["manifests"][args.builds.index(build)]
    manifest = json.loads(blob(files, part))
    check("the manifest", manifest["mediaType"] == part["mediaType"])
    config = json.loads(blob(files, manifest["config"]))
    check("the platform", (config["os"], config["architecture"]) == ("linux", build.architecture))
    layers = [gzip.decompress(blob(files, layer)) for layer in manifest["layers"]]
    check("the layers", config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers])
    legacy = json.loads(files["manifest.json"])[0]
    check("manifest.json", {legacy["Config"], *legacy["Layers"]} <= named)
    root = folder / "root"
    root.mkdir()
    for layer in layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(root, numeric_owner=True)
    user = int(config["config"]["User"].split(":")[0])
    check("the user is not in /etc/passwd", f":{user}:" in (root / "etc/passwd").read_text())
    words = config["config"]["Entrypoint"] + config["config"]["Cmd"]
    check("the command", words[:2] == ["/usr/bin/portcullis", "serve"] and "--bind-address=0.0.0.0" in words)
    # On the loopback of this machine: the test shows no port to others.
    words = [word.replace("0.0.0.0", "127.0.0.1") for word in words]
    words = within(root, [*words, "--secure-port=0", "--write-kubeconfig=/tmp/kubeconfig"], build)
    took = serve_in(root, words, args, user)
    if not build.sysroot:  # the same builds give the same bytes
        again = folder / "again.tar"
        folders = [word for each in args.builds for word in ("--build", each.folder)]
        call(sys.executable, ROOT / "tools/make_image.py", *folders, "--output", again)
        check("another run gives other bytes", again.read_bytes() == file.read_bytes())
    return f"image, {build.architecture}: {file.stat().st_size / 1e6:.1f} MB, {took:.2f} s to the answer of kubectl"


def bare_debian(args, suite="bookworm"):
    """A bare Debian, made once and kept."""
    need_root()
    if not shutil.which("debootstrap"):
        raise Skip("there is no debootstrap")
    kept = args.build / f"bare-{suite}"
    if not (kept / "usr/bin/apt-get").exists():
        shutil.rmtree(kept, ignore_errors=True)
        sources = "".join(path.read_text() for path in pathlib.Path("/etc/apt").rglob("sources.list*") if path.is_file()) + "".join(
            path.read_text() for path in pathlib.Path("/etc/apt/sources.list.d").glob("*"))
        mirror = re.search(r"https?://\S+/debian(?=\s|$)", sources)
        if not mirror:
            raise Skip("apt names no mirror of Debian")
        made = subprocess.run(["debootstrap", "--variant=minbase", suite, kept, mirror.group(0)], capture_output=True, text=True)
        if made.returncode != 0:
            shutil.rmtree(kept, ignore_errors=True)
            raise Skip(f"debootstrap: {made.stdout[-500:]}")
    return kept


def old_libc(args, folder, build):
    """The archive in Debian 11, whose C library is glibc 2.31; in Debian 12 if the mirror has dropped that."""
    for suite in ("bullseye", "bookworm"):
        try:
            call("cp", "-a", bare_debian(args, suite), folder / "root")
            break
        except Skip:
            if suite == "bookworm":
                raise
    root = folder / "root"
    begin = time.monotonic()
    call("tar", "-xzf", released(args, build, "archive"), "-C", root / "opt", "--strip-components=1")
    took = serve_in(root, ["/opt/bin/portcullis", *SERVE], args)
    said = call("chroot", root, "sh", "-c", "dpkg-query -W -f '${Version}' libc6; /opt/bin/portcullis exec -- true", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    check(f"{time.monotonic() - begin:.1f} s to the answer", time.monotonic() - begin < SECONDS)
    return f"{suite}: glibc {said}, {took:.2f} s to the answer of kubectl"


def debian(args, folder, build):
    """Installed by apt in a bare Debian 12, with what it depends on; runs as its own user; purged again."""
    root = folder / "root"
    call("cp", "-a", bare_debian(args), root)
    package = released(args, build, "deb")
    shutil.copy2(package, root / "tmp")
    for name in ("resolv.conf", "hosts"):
        shutil.copy2(f"/etc/{name}", root / "etc")
    for path in pathlib.Path("/etc/apt").glob("apt.conf.d/*proxy*"):
        shutil.copy2(path, root / "etc/apt/apt.conf.d")
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}

    def inside(*words, **more):
        return call("chroot", root, *words, env=env, **more)
    inside("apt-get", "update", "-qq")
    inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"/tmp/{package.name}")
    check("the user", "/var/lib/portcullis" in inside("getent", "passwd", "portcullis"))
    check("the flags' file is no conffile", "/etc/default/portcullis" in inside("dpkg-query", "-W", "-f", "${Conffiles}", "portcullis"))
    for name in ("usr/share/man/man1/portcullis.1.gz", "usr/share/man/man1/portcullis.1"):
        if (root / name).exists():
            break
    else:
        raise AssertionError("there is no manual page")
    if shutil.which("systemd-analyze"):
        unit = root / "lib/systemd/system/portcullis.service"
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True).stderr
        wrong = [line for line in said.splitlines() if re.search(r"portcullis\.service:.*(Unknown|parse|Invalid|ignoring)", line)]
        check(f"the unit: {wrong}", not wrong)
    user = int(inside("id", "-u", "portcullis"))
    took = serve_in(root, ["/usr/bin/portcullis", *SERVE], args, user)
    check(f"{took:.1f} s to the answer", took < SECONDS)
    inside("apt-get", "purge", "-y", "-qq", "portcullis")
    left = [str(path) for path in root.rglob("*portcullis*") if "/tmp/" not in str(path) and "/proc/" not in str(path)
            and not path.name.endswith(".list")]
    check(f"left behind: {left}", not left)
    return f"{package.name}: {package.stat().st_size / 1e6:.1f} MB, {took:.2f} s to the answer of kubectl"


def unpacked(args, folder, build):
    """A package of another architecture with all that it depends on; maintainer scripts are the same as in the other."""
    need_root()
    package = released(args, build, "deb")
    fields = dict(re.findall(r"^([\w-]+): (.*)$", call("dpkg-deb", "-f", package), re.M))
    check(f"the architecture: {fields['Architecture']}", fields["Architecture"] == build.architecture)
    for name in ("libc6", "libssl3", "libre2-9", "passwd"):
        check(f"it does not depend on {name}: {fields['Depends']}", re.search(rf"\b{name}\b", fields["Depends"]))
    root = folder / "root"
    root.mkdir()
    count = fill(root, build.architecture, [str(package)])
    (root / "tmp").mkdir(mode=0o777, exist_ok=True)
    check("there is no unit", (root / "lib/systemd/system/portcullis.service").exists())
    took = serve_in(root, within(root, ["/usr/bin/portcullis", *SERVE], build), args)
    return f"{package.name}: {package.stat().st_size / 1e6:.1f} MB, {count} packages besides, {took:.2f} s to the answer of kubectl"


def install(args, folder, build):
    """cmake --install: program, manual pages, completion, below any prefix; from a build as ./run makes it."""
    line = re.search(r"^  cmake --preset release (-D.*) >", (ROOT / "run").read_text(), re.M)
    check("./run configures in another way", line)
    made = folder / "build"
    call("cmake", "--preset", "release", "-B", made, *line.group(1).split(), cwd=ROOT)
    call("ninja", "-C", made, "-n", "portcullis", "example-webhook-server")
    shutil.copy2(args.program, made / "portcullis")
    call("cmake", "--install", made, "--prefix", folder / "usr")
    for name in ("bin/portcullis", "share/man/man1/portcullis.1", "share/man/man1/portcullis-schema-import.1",
                 "share/bash-completion/completions/portcullis", "share/zsh/site-functions/_portcullis",
                 "share/fish/vendor_completions.d/portcullis.fish", "share/doc/portcullis/LICENSE",
                 "share/doc/portcullis/examples/walkthrough/replica-limit.yaml"):
        check(f"cmake --install leaves out {name}", (folder / "usr" / name).stat().st_size > 0)
    call(folder / "usr/bin/portcullis", "version")
    return "cmake --install: all parts"


def pipeline(args, folder, build):
    """The script of action.yml, as a runner calls it: a server for the steps that follow."""
    action = (ROOT / "action.yml").read_text()
    check("action.yml runs another script", '"$GITHUB_ACTION_PATH/tools/ci/start_server.sh"' in action)
    file = released(args, build, "archive")
    for given in ({"PORTCULLIS_PROGRAM": str(args.program)},
                  {"PORTCULLIS_ARCHIVE": str(file), "PORTCULLIS_SHA256": hashlib.sha256(file.read_bytes()).hexdigest()}):
        for name in given:
            check(f"action.yml does not hand on {name}", f"{name}: ${{{{ inputs." in action)
        runner = {"GITHUB_ENV": str(folder / "env"), "GITHUB_OUTPUT": str(folder / "output"), "RUNNER_TEMP": str(folder),
                  "PORTCULLIS_FLAGS": "--enable-admission-plugins=AlwaysPullImages --v=0"}
        (folder / "env").write_text("")
        call(ROOT / "tools/ci/start_server.sh", env={**os.environ, **given, **runner})
        told = dict(line.split("=", 1) for line in (folder / "env").read_text().splitlines())
        pid = int(next(pathlib.Path(told["KUBECONFIG"]).parent.glob("pid")).read_text())
        try:
            check("the namespaces are others", names_of_namespaces(args.client, told["KUBECONFIG"]) == NAMESPACES)
        finally:
            os.kill(pid, signal.SIGTERM)
    bad = subprocess.run([ROOT / "tools/ci/start_server.sh"], capture_output=True, text=True,
                         env={**os.environ, "PORTCULLIS_PROGRAM": str(args.program), "PORTCULLIS_FLAGS": "--no-such-flag",
                              "RUNNER_TEMP": str(folder)})
    check(f"a server that does not start: {bad.returncode} {bad.stderr}", bad.returncode == 1 and "unknown flag: --no-such-flag" in bad.stderr)
    return "action.yml: its script, with a program and with an archive"


def gitlab(args, folder, _):
    """The script lines of the snippet in docs/ci.md, with the program and kubectl in PATH."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "portcullis").symlink_to(args.program)
    (tools / "kubectl").symlink_to(args.client)
    snippet = re.search(r"## GitLab CI\n.*?```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.S).group(1)
    lines = re.findall(r"^  - (.*)$", snippet.split("script:\n")[1], re.M)
    check("the snippet has no script", lines)
    told = call("sh", "-ec", "\n".join(lines), cwd=folder, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    check(f"another output: {told}", told == "".join(f"namespace/{name}\n" for name in NAMESPACES.split()))
    return "the snippet for GitLab"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--cross", type=pathlib.Path, help="a build for another architecture")
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.program = args.build / "portcullis"
    try:
        args.client = kubectl.find()
    except kubectl.Unavailable as reason:
        print(f"SKIP: no kubectl: {reason}")
        return SKIP
    args.dist = args.build / "dist"
    shutil.rmtree(args.dist, ignore_errors=True)
    args.builds = [Build(folder) for folder in (args.build, args.cross) if folder]
    folders = [word for build in args.builds for word in ("--build", build.folder)]
    print(call(sys.executable, ROOT / "tools/make_release.py", *folders, "--output", args.dist), end="")
    args.version = args.builds[0].version(args.program)["version"]
    tests = [(test, args.builds[0]) for test in (archive, old_libc, image, debian, install, pipeline, gitlab)]
    tests += [(test, build) for build in args.builds[1:] for test in (archive, image, unpacked)]
    passed, skipped, failed = 0, 0, 0
    for test, build in tests:
        if args.only and test.__name__ not in args.only:
            continue
        with tempfile.TemporaryDirectory(prefix="packages-") as name:
            try:
                os.chmod(name, 0o755)
                print(f"  {test(args, pathlib.Path(name), build)}")
                passed += 1
            except Skip as reason:
                print(f"SKIP: {test.__name__}: {reason}")
                skipped += 1
            except AssertionError as error:
                print(f"packages: {test.__name__}, {build.architecture}: {error}")
                failed += 1
    print(f"packages: {passed} passed, {failed} failed")
    return 1 if failed else SKIP if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
