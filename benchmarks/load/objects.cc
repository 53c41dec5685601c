// SPDX-License-Identifier: Apache-2.0

#include "objects.h"

#include "base/strings.h"

namespace portcullis::load {

std::string ConfigMapText(std::string_view name, std::string_view labels) {
  static const std::string kValue(800, 'x');
  return base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
                      R"(","labels":{)", labels, R"(}},"data":{"text":")", kValue, R"("}})");
}

std::string PodText(std::string_view name) {
  static const std::string kNote(900, 'x');
  return base::StrCat(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name,
      R"(","labels":{"app":"load","tier":"web"},"annotations":{"example.com/note":")", kNote,
      R"("}},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"main","image":)",
      R"("registry.example.com/web:1.2.3","ports":[{"containerPort":8080,"name":"http"}],"env":[)",
      R"({"name":"MODE","value":"production"},{"name":"LEVEL","value":"info"},{"name":"ZONE",)",
      R"("value":"a"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":)",
      R"("200m","memory":"128Mi"}},"livenessProbe":{"httpGet":{"path":"/healthz","port":8080}},)",
      R"("volumeMounts":[{"name":"work","mountPath":"/work"}]},{"name":"side","image":)",
      R"("registry.example.com/side:1.0.0","args":["--listen=:9090","--verbose"],"resources":)",
      R"({"requests":{"cpu":"10m","memory":"16Mi"}}}],"volumes":[{"name":"work","emptyDir":{}}])",
      "}}");
}

std::string NamespaceText(std::string_view name, std::string_view labels) {
  return base::StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", name,
                      R"(","labels":{)", labels, "}}}");
}

}  // namespace portcullis::load
