// SPDX-License-Identifier: Apache-2.0

// Pods, where lists refer to each other, in a namespace where every plugin has something to do.
#include "base/strings.h"
#include "named.h"

namespace portcullis::cost_law {
namespace {

using base::StrCat;

constexpr std::string_view kPods = "/api/v1/namespaces/law/pods";
constexpr std::string_view kContainer = R"({"name":"c","image":"i"})";

std::string Pod(std::string_view spec) {
  return StrCat(R"({"metadata":{"name":"law"},"spec":{)", spec, "}}");
}

std::string OneContainer(std::string_view members) {
  return StrCat(R"("containers":[{"name":"c","image":"i",)", members, "}]");
}

// A part of a pod's spec, as text.
struct Part {
  std::string_view name;
  std::string (*spec)(std::size_t n);
};

const Part kParts[] = {
    {"containers",
     [](std::size_t n) {
       return StrCat(R"("containers":)", List(n, R"({"name":"c#","image":"i"})"));
     }},
    {"containers without token",
     [](std::size_t n) {
       return StrCat(R"("automountServiceAccountToken":false,"containers":)",
                     List(n, R"({"name":"c#","image":"i"})"));
     }},
    {"containers of one name",
     [](std::size_t n) { return StrCat(R"("containers":)", List(n, kContainer)); }},
    {"init containers",
     [](std::size_t n) {
       return StrCat(R"("initContainers":)", List(n, R"({"name":"i#","image":"i"})"),
                     R"(,"containers":[)", kContainer, "]");
     }},
    {"sidecars with resources",
     [](std::size_t n) {
       return StrCat(R"("initContainers":)",
                     List(n, R"({"name":"i#","image":"i","restartPolicy":"Always",)"
                             R"("resources":{"requests":{"cpu":"1m"},"limits":{"cpu":"2m"}}})"),
                     R"(,"containers":[)", kContainer, "]");
     }},
    {"containers with security contexts",
     [](std::size_t n) {
       return StrCat(R"("containers":)",
                     List(n, R"({"name":"c#","image":"i","securityContext":{"privileged":true,)"
                             R"("capabilities":{"add":["X#"]},"seLinuxOptions":{"type":"t#"}}})"));
     }},
    {"env",
     [](std::size_t n) {
       return OneContainer(StrCat(R"("env":)", List(n, R"({"name":"E#","value":"v#"})")));
     }},
    {"env of one name",
     [](std::size_t n) {
       return OneContainer(StrCat(R"("env":)", List(n, R"({"name":"E","value":"v#"})")));
     }},
    {"env from secrets",
     [](std::size_t n) {
       return OneContainer(StrCat(
           R"("env":)",
           List(n, R"({"name":"E#","valueFrom":{"secretKeyRef":{"name":"s#","key":"k"}}})")));
     }},
    {"ports",
     [](std::size_t n) {
       return OneContainer(StrCat(R"("ports":)", List(n, R"({"name":"p#","containerPort":80})")));
     }},
    {"host ports",
     [](std::size_t n) {
       return StrCat(R"("hostNetwork":true,)",
                     OneContainer(StrCat(R"("ports":)", List(n, R"({"containerPort":80})"))));
     }},
    {"volumes and mounts",
     [](std::size_t n) {
       return StrCat(R"("volumes":)", List(n, R"({"name":"v#","emptyDir":{}})"), ",",
                     OneContainer(StrCat(R"("volumeMounts":)",
                                         List(n, R"({"name":"v#","mountPath":"/m#"})"))));
     }},
    {"mounts without volumes",
     [](std::size_t n) {
       return OneContainer(
           StrCat(R"("volumeMounts":)", List(n, R"({"name":"v#","mountPath":"/m#"})")));
     }},
    {"volume devices and mounts",
     [](std::size_t n) {
       return StrCat(
           R"("volumes":)", List(n, R"({"name":"v#","persistentVolumeClaim":{"claimName":"c#"}})"),
           ",",
           OneContainer(
               StrCat(R"("volumeMounts":)", List(n / 2, R"({"name":"v#","mountPath":"/m#"})"),
                      R"(,"volumeDevices":)", List(n / 2, R"({"name":"v#","devicePath":"/d#"})"))));
     }},
    {"projected sources",
     [](std::size_t n) {
       return StrCat(R"("volumes":[{"name":"v","projected":{"sources":)",
                     List(n, R"({"configMap":{"name":"m#","items":[{"key":"k","path":"p#"}]}})"),
                     "}}],\"containers\":[", kContainer, "]");
     }},
    {"extended resources and tolerations",
     [](std::size_t n) {
       return StrCat(
           R"("tolerations":)", List(n, R"({"key":"x.example/r#","operator":"Exists"})"), ",",
           OneContainer(StrCat(R"("resources":{"limits":)", Map(n, R"("x.example/r#":"1")"), "}")));
     }},
    {"resources of many containers",
     [](std::size_t n) {
       return StrCat(
           R"("containers":)",
           List(n, R"({"name":"c#","image":"i","resources":{"limits":{"x.example/r#":"1"}}})"));
     }},
    {"resource claims",
     [](std::size_t n) {
       return StrCat(
           R"("resourceClaims":)", List(n, R"({"name":"r#","resourceClaimName":"c#"})"), ",",
           OneContainer(StrCat(R"("resources":{"claims":)", List(n, R"({"name":"r#"})"), "}")));
     }},
    {"node affinity",
     [](std::size_t n) {
       return StrCat(
           R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":)",
           List(n, R"({"matchExpressions":[{"key":"k#","operator":"In","values":["v#"]}]})"),
           "}}},\"containers\":[", kContainer, "]");
     }},
    {"values of a node selector",
     [](std::size_t n) {
       return StrCat(
           R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":)",
           List(n, R"("v#")"), "}]}]}}},\"containers\":[", kContainer, "]");
     }},
    {"topology spread constraints",
     [](std::size_t n) {
       return StrCat(
           R"("topologySpreadConstraints":)",
           List(n, R"({"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"DoNotSchedule",)"
                   R"("labelSelector":{"matchLabels":{"a":"b"}}})"),
           ",\"containers\":[", kContainer, "]");
     }},
    {"host aliases and sysctls",
     [](std::size_t n) {
       return StrCat(R"("hostAliases":)", List(n, R"({"ip":"10.0.0.1","hostnames":["h#"]})"),
                     R"(,"securityContext":{"sysctls":)",
                     List(n, R"({"name":"net.core.s#","value":"1"})"), "},\"containers\":[",
                     kContainer, "]");
     }},
};

std::string Changed(std::string_view body) {
  return base::ReplaceAll(base::ReplaceAll(body, R"("image":"i")", R"("image":"j")"),
                          R"("value":"v)", R"("value":"w)");
}

std::string AppArmor(std::size_t n) {
  return StrCat(R"({"metadata":{"name":"law","annotations":)",
                Map(n, R"("container.apparmor.security.beta.kubernetes.io/c#":"runtime/default")"),
                R"(},"spec":{"containers":)", List(n, R"({"name":"c#","image":"i"})"), "}}");
}

}  // namespace

void AddPods(std::vector<Family>& out) {
  for (const Part& part : kParts) {
    const auto body = [spec = part.spec](std::size_t n) { return Pod(spec(n)); };
    out.push_back(Alone(StrCat("law pods ", part.name, " create"), "POST",
                        StrCat(kPods, "?dryRun=All"), body));
    out.push_back(Change(StrCat("law pods ", part.name, " update"),
                         {std::string(kPods), body, "PUT", "application/json",
                          [=](std::size_t n) { return Changed(body(n)); }}));
  }
  out.push_back(Alone("law pods apparmor annotations create", "POST", StrCat(kPods, "?dryRun=All"),
                      AppArmor));
  const auto env = [](std::string_view entry) {
    return [=](std::size_t n) { return Pod(OneContainer(StrCat(R"("env":)", List(n, entry)))); };
  };
  out.push_back(Change("law pods env refused update",
                       {std::string(kPods), env(R"({"name":"E#","value":"v#"})"), "PUT",
                        "application/json", env(R"({"name":"E#","value":"x#"})")}));
  out.push_back(Change("law pods env of few values refused update",
                       {std::string(kPods), env(R"({"name":"E","value":"v"})"), "PUT",
                        "application/json", env(R"({"name":"E","value":"w"})")}));
  out.push_back(Alone(
      "law pods owner references create", "POST", StrCat(kPods, "?dryRun=All"), [](std::size_t n) {
        return StrCat(R"({"metadata":{"name":"law","ownerReferences":)",
                      List(n, R"({"apiVersion":"v1","kind":"ConfigMap","name":"n#","uid":"u#"})"),
                      R"(},"spec":{"containers":[)", kContainer, "]}}");
      }));
}

}  // namespace portcullis::cost_law
