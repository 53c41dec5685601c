// SPDX-License-Identifier: Apache-2.0

// Requests apart from objects: encodings, queries, headers, reviews, lists.
#include "base/strings.h"
#include "named.h"

namespace portcullis::cost_law {
namespace {

using base::StrCat;

constexpr std::string_view kMaps = "/api/v1/namespaces/law/configmaps";
constexpr std::size_t kQueryBytes = 24 << 10;  // a request line has a limit of its own

std::string Varint(std::size_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out += static_cast<char>(value);
}

std::string Field(int number, std::string_view content) {
  return StrCat(std::string(1, static_cast<char>(number << 3 | 2)), Varint(content.size()),
                content);
}

// A ConfigMap named "p" in the wire form of protobuf.
std::string Protobuf(std::string_view metadata, std::string_view rest) {
  const std::string raw = Field(1, StrCat(Field(1, "p"), metadata)) + std::string(rest);
  return StrCat(std::string("k8s\0", 4), Field(1, Field(1, "v1") + Field(2, "ConfigMap")),
                Field(2, raw));
}

std::string Fields(std::size_t n, const std::function<std::string(std::size_t)>& field) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += field(i);
  return out;
}

void AddEncodings(std::vector<Family>& out) {
  const std::string create = StrCat(kMaps, "?dryRun=All");
  const std::string protobuf = "application/vnd.kubernetes.protobuf";
  out.push_back(Alone(
      "protobuf map create", "POST", create,
      [](std::size_t n) {
        return Protobuf("", Fields(n, [](std::size_t i) {
                          return Field(2, Field(1, "k" + std::to_string(i)) + Field(2, "v"));
                        }));
      },
      protobuf));
  out.push_back(Alone(
      "protobuf list create", "POST", create,
      [](std::size_t n) {
        return Protobuf(
            Fields(n, [](std::size_t i) { return Field(14, "a.example/f" + std::to_string(i)); }),
            "");
      },
      protobuf));
  out.push_back(Alone(
      "yaml map create", "POST", create,
      [](std::size_t n) {
        return StrCat("metadata: {name: y}\ndata:\n", Fields(n, [](std::size_t i) {
                        return StrCat("  k", std::to_string(i), ": v\n");
                      }));
      },
      "application/yaml"));
  out.push_back(Alone(
      "yaml aliases create", "POST", create,
      [](std::size_t n) {
        return StrCat("metadata: {name: y}\nx: &a {b: c}\ndata:\n", Fields(n, [](std::size_t i) {
                        return StrCat("  k", std::to_string(i), ": *a\n");
                      }));
      },
      "application/yaml"));
  out.push_back(Alone(
      "yaml merge keys create", "POST", create,
      [](std::size_t n) {
        return StrCat("metadata: {name: y}\ndata:\n  <<: [",
                      Fields(n,
                             [](std::size_t i) {
                               return StrCat(i == 0 ? "" : ", ", "{k", std::to_string(i), ": v}");
                             }),
                      "]\n");
      },
      "application/yaml"));
  const auto json = [&](std::string_view name, std::function<std::string(std::size_t)> body) {
    for (const std::string_view validation : {"Ignore", "Warn", "Strict"}) {
      out.push_back(Alone(StrCat("json ", name, " ", validation, " create"), "POST",
                          StrCat(create, "&fieldValidation=", validation), body));
    }
  };
  json("duplicate keys", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},"data":)", Map(n, R"("k":"v#")"), "}");
  });
  json("duplicate objects", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},)", Map(n, R"("data":{"k#":"v"})").substr(1));
  });
  json("duplicate lists", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x",)", Map(n, R"("finalizers":["a.b/c#"])").substr(1),
                  "}");
  });
  json("a long list after short ones", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x",)",
                  Fields(n, [](std::size_t) { return std::string(R"("finalizers":["a.b/c"],)"); }),
                  R"("finalizers":)", List(n, R"("a.b/c#")"), "}}");
  });
  json("owner references", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x","ownerReferences":)",
                  List(n, R"({"apiVersion":"v1","kind":"Node","name":"n#","uid":"u#"})"), "}}");
  });
  json("unknown fields", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},)", Map(n, R"("u#":1)").substr(1));
  });
  json("labels", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x","labels":)", Map(n, R"("l#":"v")"), "}}");
  });
  json("labels that are refused", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x","labels":)", Map(n, R"("l#":"-")"), "}}");
  });
  json("escapes", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},"data":{"a":")", Repeat(n, R"(\ud83d\ude00)"),
                  "\"}}");
  });
  json("white space",
       [](std::size_t n) { return StrCat(Repeat(n, " \n"), R"({"metadata":{"name":"x"}})"); });
  json("numbers", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x","generation":)", Repeat(n, "1"), "}}");
  });
  json("keys of one hash", [](std::size_t n) {
    // The middle of a short tail does not count in the hash of a name.
    return StrCat(R"({"metadata":{"name":"x"},"data":)",
                  MapOf(n,
                        [](std::size_t i) {
                          return StrCat(R"("k)", std::to_string(1'000'000 + i * 10), R"(":"v")");
                        }),
                  "}");
  });
}

// A request without a body.
Family Query(std::string name, std::function<std::string(std::size_t)> path) {
  Family family{std::move(name), [path = std::move(path)](std::size_t n) {
                  return Sample{{}, {"GET", path(n), ""}, {}};
                }};
  family.most = kQueryBytes / 6;
  return family;
}

std::string Joined(std::size_t n, std::string_view piece) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += StrCat(i == 0 ? "" : ",", cost_law::With(piece, i));
  return out;
}

void AddQueries(std::vector<Family>& out) {
  const std::string maps(kMaps);
  out.push_back(Query("label selector values", [=](std::size_t n) {
    return StrCat(maps, "?labelSelector=k%20in%20(", Joined(n, "v#"), ")");
  }));
  out.push_back(Query("label selector terms", [=](std::size_t n) {
    return StrCat(maps, "?labelSelector=", Joined(n, "k#"));
  }));
  out.push_back(Query("field selector terms", [=](std::size_t n) {
    return StrCat(maps, "?fieldSelector=", Joined(n / 3 + 1, "metadata.name!=n#"));
  }));
  out.push_back(Query("query parameters", [=](std::size_t n) {
    std::string path = maps + "?limit=1";
    for (std::size_t i = 0; i < n; ++i) path += StrCat("&a", std::to_string(i), "=1");
    return path;
  }));
  out.push_back(
      Query("path segments", [=](std::size_t n) { return StrCat(maps, Repeat(n, "/a")); }));
  out.push_back({"impersonated groups",
                 [=](std::size_t n) {
                   Sample sample{{}, {"GET", maps, ""}, {}};
                   sample.measured.headers.Add("Impersonate-User", "u");
                   for (std::size_t i = 0; i < n; ++i) {
                     sample.measured.headers.Add("Impersonate-Group", "g" + std::to_string(i));
                   }
                   return sample;
                 },
                 2'000});
}

void AddReviews(std::vector<Family>& out) {
  const std::string group = "/apis/authorization.k8s.io/v1/";
  const auto review = [&](std::string_view name, std::string_view members) {
    out.push_back(Alone(StrCat("access review ", name), "POST", group + "subjectaccessreviews",
                        [members = std::string(members)](std::size_t n) {
                          const std::size_t at = members.find('@');
                          return StrCat(R"({"spec":{"user":"u","resourceAttributes":{"verb":"get",)"
                                        R"("resource":"pods"},)",
                                        members.substr(0, at), List(n, R"("g#")"),
                                        members.substr(at + 1), "}}");
                        }));
  };
  review("groups", R"("groups":@)");
  review("extra", R"("extra":{"a":@})");
  out.push_back(Alone(
      "access review requirements", "POST", group + "subjectaccessreviews", [](std::size_t n) {
        return StrCat(R"({"spec":{"user":"u","resourceAttributes":{"verb":"list",)"
                      R"("resource":"pods","labelSelector":{"requirements":)",
                      List(n, R"({"key":"k#","operator":"In","values":["v#"]})"), "}}}}");
      }));
  out.push_back(
      {"rules review of many rules", [=](std::size_t n) {
         const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/law/roles";
         const std::string bindings =
             "/apis/rbac.authorization.k8s.io/v1/namespaces/law/rolebindings";
         Sample sample;
         sample.before = {
             {"POST", roles,
              StrCat(R"({"metadata":{"name":"grown"},"rules":)",
                     List(n, R"({"apiGroups":["g#"],"resources":["r#"],"verbs":["get"]})"), "}")},
             {"POST", bindings,
              R"({"metadata":{"name":"grown"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"grown"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"many"}]})"}};
         sample.measured = {"POST", group + "selfsubjectrulesreviews",
                            R"({"spec":{"namespace":"law"}})"};
         sample.measured.headers.Add("Impersonate-User", "many");
         sample.after = {roles + "/grown", bindings + "/grown"};
         return sample;
       }});
  // Who makes a role must have what it grants.
  out.push_back(
      {"escalation check of many rules", [=](std::size_t n) {
         const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/law/roles";
         const std::string bindings =
             "/apis/rbac.authorization.k8s.io/v1/namespaces/law/rolebindings";
         const std::string rules =
             List(n, R"({"apiGroups":["g#"],"resources":["r#"],"verbs":["get"]})");
         Sample sample;
         sample.before = {
             {"POST", roles,
              StrCat(R"({"metadata":{"name":"grown"},"rules":[{"apiGroups":)"
                     R"(["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create"]},)",
                     rules.substr(1), "}")},
             {"POST", bindings,
              R"({"metadata":{"name":"grown"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"grown"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"many"}]})"}};
         sample.measured = {"POST", roles + "?dryRun=All",
                            StrCat(R"({"metadata":{"name":"other"},"rules":)", rules, "}")};
         sample.measured.headers.Add("Impersonate-User", "many");
         sample.after = {roles + "/grown", bindings + "/grown"};
         return sample;
       }});
  // A rule is as many permissions as the product of its lists.
  out.push_back(
      {"escalation check of long lists", [=](std::size_t n) {
         const std::string path = "/apis/rbac.authorization.k8s.io/v1/namespaces/law/";
         const std::string names = List(n / 4 + 1, R"("n#")");
         Sample sample;
         sample.before = {
             {"POST", path + "roles",
              R"({"metadata":{"name":"grown"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create"]}]})"},
             {"POST", path + "rolebindings",
              R"({"metadata":{"name":"grown"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"grown"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"author"}]})"}};
         sample.measured = {"POST", path + "roles?dryRun=All",
                            StrCat(R"({"metadata":{"name":"other"},"rules":[{"apiGroups":)", names,
                                   R"(,"resources":)", names, R"(,"verbs":)", names,
                                   R"(,"resourceNames":)", names, "}]}")};
         sample.measured.headers.Add("Impersonate-User", "author");
         sample.after = {path + "roles/grown", path + "rolebindings/grown"};
         return sample;
       }});
}

}  // namespace

void AddRequests(std::vector<Family>& out) {
  AddEncodings(out);
  AddQueries(out);
  AddReviews(out);
}

}  // namespace portcullis::cost_law
