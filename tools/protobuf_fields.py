#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes src/engine/data/protobuf.fields, the field numbers of the protobuf form of the built-in kinds.

  tools/protobuf_fields.py FOLDER > src/engine/data/protobuf.fields

FOLDER holds the Go modules that Kubernetes publishes (k8s.io/api, k8s.io/apimachinery,
k8s.io/apiextensions-apiserver, k8s.io/kube-aggregator), at any depth: the numbers are read from
generated.proto, names in JSON and embedded structs from the Go types beside it. The format of the table
is described in src/engine/codec/protobuf.h.
"""
import pathlib
import re
import sys

SCALARS = {"string": "s", "bytes": "b", "bool": "t", "double": "d"}
SCALARS |= dict.fromkeys(("int32", "int64", "uint32", "uint64"), "i")

# Packages whose messages are known under another name, and those that are no part of the API.
PACKAGES = {"apimachinery.pkg.apis.meta.v1": "meta", "apimachinery.pkg.apis.meta.v1beta1": "meta.v1beta1"}
SKIPPED = ("apimachinery.", "testapigroup", ".apiserver.", "metrics.", "imagepolicy", "api.admission.",
           "apiextensions.v1beta1")

# Kinds and fields that Kubernetes 1.36 has no more (docs/legacy.md), as the last releases that had them published them.
LEGACY = """# Kubernetes 1.7 to 1.13.
@meta
ObjectMeta initializers=16?Initializers
Initializer name=1s
Initializers pending=1*Initializer result=2?Status
@api.admissionregistration.v1alpha1
AdmissionHookClientConfig service=1ServiceReference caBundle=2b
ExternalAdmissionHook name=1s clientConfig=2AdmissionHookClientConfig rules=3*RuleWithOperations failurePolicy=4?s
ExternalAdmissionHookConfiguration metadata=1meta.ObjectMeta externalAdmissionHooks=2*ExternalAdmissionHook
ExternalAdmissionHookConfigurationList metadata=1meta.ListMeta items=2*ExternalAdmissionHookConfiguration
Initializer name=1s rules=2*Rule failurePolicy=3?s
InitializerConfiguration metadata=1meta.ObjectMeta initializers=2*Initializer
InitializerConfigurationList metadata=1meta.ListMeta items=2*InitializerConfiguration
Rule apiGroups=1*s apiVersions=2*s resources=3*s
RuleWithOperations operations=1*s rule=2^Rule
ServiceReference namespace=1s name=2s
@api.extensions.v1beta1
PodSecurityPolicy metadata=1meta.ObjectMeta spec=2api.policy.v1beta1.PodSecurityPolicySpec
PodSecurityPolicyList metadata=1meta.ListMeta items=2*PodSecurityPolicy
@api.policy.v1beta1
AllowedCSIDriver name=1s
AllowedFlexVolume driver=1s
AllowedHostPath pathPrefix=1s readOnly=2t
FSGroupStrategyOptions rule=1s ranges=2*IDRange
HostPortRange min=1i max=2i
IDRange min=1i max=2i
PodSecurityPolicy metadata=1meta.ObjectMeta spec=2PodSecurityPolicySpec
PodSecurityPolicyList metadata=1meta.ListMeta items=2*PodSecurityPolicy
PodSecurityPolicySpec privileged=1t defaultAddCapabilities=2*s requiredDropCapabilities=3*s allowedCapabilities=4*s \
volumes=5*s hostNetwork=6t hostPorts=7*HostPortRange hostPID=8t hostIPC=9t seLinux=10SELinuxStrategyOptions \
runAsUser=11RunAsUserStrategyOptions runAsGroup=22?RunAsGroupStrategyOptions \
supplementalGroups=12SupplementalGroupsStrategyOptions fsGroup=13FSGroupStrategyOptions readOnlyRootFilesystem=14t \
defaultAllowPrivilegeEscalation=15?t allowPrivilegeEscalation=16?t allowedHostPaths=17*AllowedHostPath \
allowedFlexVolumes=18*AllowedFlexVolume allowedCSIDrivers=23*AllowedCSIDriver allowedUnsafeSysctls=19*s \
forbiddenSysctls=20*s allowedProcMountTypes=21*s runtimeClass=24?RuntimeClassStrategyOptions
RunAsGroupStrategyOptions rule=1s ranges=2*IDRange
RunAsUserStrategyOptions rule=1s ranges=2*IDRange
RuntimeClassStrategyOptions allowedRuntimeClassNames=1*s defaultRuntimeClassName=2?s
SELinuxStrategyOptions rule=1s seLinuxOptions=2?api.core.v1.SELinuxOptions
SupplementalGroupsStrategyOptions rule=1s ranges=2*IDRange
@api.settings.v1alpha1
PodPreset metadata=1meta.ObjectMeta spec=2PodPresetSpec
PodPresetList metadata=1meta.ListMeta items=2*PodPreset
PodPresetSpec selector=1meta.LabelSelector env=2*api.core.v1.EnvVar envFrom=3*api.core.v1.EnvFromSource \
volumes=4*api.core.v1.Volume volumeMounts=5*api.core.v1.VolumeMount"""


def go_members(folder):
    """What Go's structs say of each protobuf field: the name in JSON ("" for an embedded struct), and whether it may
    be nil, so that it is not always written."""
    sources = [path.read_text() for path in sorted(folder.glob("*.go"))]
    slices = {name for text in sources for name in re.findall(r"^type (\w+) \[\]", text, re.M)}
    members = {}
    for text in sources:
        for struct in re.finditer(r"^type (\w+) struct \{\n(.*?)^\}", text, re.M | re.S):
            for field in re.finditer(r"(\S+)[ \t]+`(?:json:\"([^\",]*)[^`]*? )?protobuf:\"\w+,(\d+),", struct[2]):
                go_type, in_json, number = field.groups()
                may_be_nil = go_type[0] in "*[" or go_type in slices
                members[struct[1], number] = (None if in_json == "-" else in_json, may_be_nil)
    return members


def short(package):
    package = package.removeprefix("k8s.io.")
    if package in PACKAGES:
        return PACKAGES[package]
    package = package.replace("apiserverinternal", "internal")  # the group is internal.apiserver.k8s.io
    package = re.sub(r"^(apiextensions_apiserver|kube_aggregator)\.pkg\.apis\.", "api.", package)
    return package


def type_of(text, package):
    if text in SCALARS:
        return SCALARS[text]
    full = text.lstrip(".")
    if "." not in full:
        return full
    owner, name = full.rsplit(".", 1)
    # Quantities, raw objects and the like are the same in every package.
    if owner.startswith(("k8s.io.apimachinery.pkg.runtime", "k8s.io.apimachinery.pkg.api.resource",
                         "k8s.io.apimachinery.pkg.util")):
        return name
    owner = short(owner)
    return name if owner == package else f"{owner}.{name}"


def messages(text, package, members):
    text = re.sub(r"//[^\n]*", "", text)
    for match in re.finditer(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
        message, body = match[1], match[2]
        fields = []
        for field in re.finditer(r"(?:(optional|repeated) ([\w.]+)|map<string, *([\w.]+)>) (\w+) = (\d+)", body):
            label, single, value, name, number = field.groups()
            in_json, may_be_nil = members.get((message, number), (None, False))
            in_json = name.replace("jSON", "json") if in_json is None else in_json
            mode = "%" if value else "*" if label == "repeated" else "^" if not in_json else "?" if may_be_nil else ""
            fields.append(f"{in_json or name}={number}{mode}{type_of(value or single, package)}")
        yield message, fields


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    table = {}
    for path in sorted(pathlib.Path(sys.argv[1]).rglob("generated.proto")):
        text = path.read_text()
        declared = re.search(r"^package ([\w.]+);", text, re.M)[1]
        package = short(declared)
        if package not in PACKAGES.values() and any(part in declared for part in SKIPPED):
            continue
        table.setdefault(package, {}).update(messages(text, package, go_members(path.parent)))
    print("# Field numbers of the protobuf form of the built-in kinds (Kubernetes 1.36), made by\n"
          "# tools/protobuf_fields.py; see engine/codec/protobuf.h.")
    for package, known in sorted(table.items()):
        print(f"@{package}")
        for message, fields in sorted(known.items()):
            print(" ".join([message, *fields]))
    print(LEGACY)


if __name__ == "__main__":
    main()
