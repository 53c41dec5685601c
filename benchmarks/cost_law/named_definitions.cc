// SPDX-License-Identifier: Apache-2.0

// Definitions that are compiled: custom resources, policies, webhook configurations, roles, quotas,
// services.
#include "base/strings.h"
#include "named.h"

namespace portcullis::cost_law {
namespace {

using base::StrCat;

// A CustomResourceDefinition with this schema of `spec`.
std::string Definition(std::string_view spec_schema, std::string_view version_members = "") {
  return StrCat(
      R"({"metadata":{"name":"laws.d.example"},"spec":{"group":"d.example","scope":"Namespaced",)"
      R"("names":{"plural":"laws","kind":"Law"},"versions":[{"name":"v1","served":true,)"
      R"("storage":true,)",
      version_members, R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)",
      spec_schema, "}}}}]}}");
}

std::string Object(std::string_view members) {
  return StrCat(R"({"type":"object",)", members, "}");
}

struct Schema {
  std::string_view name;
  std::string (*spec)(std::size_t n);
};

const Schema kSchemas[] = {
    {"properties",
     [](std::size_t n) {
       return Object(StrCat(R"("properties":)", Map(n, R"("p#":{"type":"string"})")));
     }},
    {"properties with defaults",
     [](std::size_t n) {
       return Object(StrCat(R"("properties":)", Map(n, R"("p#":{"type":"string","default":"x"})")));
     }},
    {"a default with many fields",
     [](std::size_t n) {
       return Object(StrCat(R"("x-kubernetes-preserve-unknown-fields":true,"default":)",
                            Map(n, R"("p#":1)")));
     }},
    {"required fields",
     [](std::size_t n) {
       return Object(StrCat(R"("properties":)", Map(n, R"("p#":{"type":"string"})"),
                            R"(,"required":)", List(n, R"("p#")")));
     }},
    {"enum",
     [](std::size_t n) { return StrCat(R"({"type":"string","enum":)", List(n, R"("e#")"), "}"); }},
    {"enum of one value",
     [](std::size_t n) { return StrCat(R"({"type":"string","enum":)", List(n, R"("e")"), "}"); }},
    {"allOf",
     [](std::size_t n) {
       return Object(StrCat(R"("allOf":)", List(n, R"({"required":["r#"]})")));
     }},
    {"anyOf with properties",
     [](std::size_t n) {
       return Object(StrCat(R"("properties":)", Map(n, R"("p#":{"type":"string"})"), R"(,"anyOf":)",
                            List(n, R"({"properties":{"p#":{"minLength":1}}})")));
     }},
    {"list map keys",
     [](std::size_t n) {
       return StrCat(
           R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":)",
           List(n, R"("p#")"), R"(,"items":{"type":"object","required":)", List(n, R"("p#")"),
           R"(,"properties":)", Map(n, R"("p#":{"type":"string"})"), "}}");
     }},
    {"rules",
     [](std::size_t n) {
       return Object(StrCat(R"("properties":{"a":{"type":"integer"}},"x-kubernetes-validations":)",
                            List(n, R"({"rule":"self.a != #"})")));
     }},
    {"one long rule",
     [](std::size_t n) {
       return Object(StrCat(
           R"("properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"true)",
           Repeat(n, " && self.a != 7"), R"("}])"));
     }},
    {"depth",
     [](std::size_t n) {
       std::string out = R"({"type":"string"})";
       for (std::size_t i = 0; i < n && i < 150; ++i) {
         out = Object(StrCat(R"("properties":{"a":)", out, "}"));
       }
       return Object(StrCat(R"("properties":)", MapOf(n / 150 + 1, [&](std::size_t i) {
                              return StrCat("\"p", std::to_string(i), "\":", out);
                            })));
     }},
    {"descriptions",
     [](std::size_t n) { return Object(StrCat(R"("description":")", Repeat(n, "x"), "\"")); }},
};

void AddCustomResourceDefinitions(std::vector<Family>& out) {
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const Schema& schema : kSchemas) {
    const auto body = [spec = schema.spec](std::size_t n) { return Definition(spec(n)); };
    out.push_back(
        Alone(StrCat("definitions ", schema.name, " create"), "POST", path + "?dryRun=All", body));
    // An object of the definition, once that has been compiled.
    out.push_back(
        {StrCat("definitions ", schema.name, " an object of it"), [=](std::size_t n) {
           Sample sample;
           sample.before = {{"POST", path, body(n)}};
           sample.measured = {
               "POST", "/apis/d.example/v1/namespaces/default/laws?dryRun=All",
               R"({"apiVersion":"d.example/v1","kind":"Law","metadata":{"name":"l"},"spec":{}})"};
           sample.after = {path + "/laws.d.example"};
           return sample;
         }});
  }
  const auto add = [&](std::string_view name, std::function<std::string(std::size_t)> members) {
    out.push_back(Alone(
        StrCat("definitions ", name, " create"), "POST", path + "?dryRun=All", [=](std::size_t n) {
          return Definition(R"({"type":"object","properties":{"a":{"type":"string"}}})",
                            members(n) + ",");
        }));
  };
  add("printer columns", [](std::size_t n) {
    return StrCat(R"("additionalPrinterColumns":)",
                  List(n, R"({"name":"c#","type":"string","jsonPath":".spec.a"})"));
  });
  add("selectable fields", [](std::size_t n) {
    return StrCat(R"("selectableFields":)", List(n, R"({"jsonPath":".spec.p#"})"));
  });
  out.push_back(Alone("definitions versions create", "POST", path + "?dryRun=All", [](std::size_t n) {
    return StrCat(
        R"({"metadata":{"name":"laws.d.example"},"spec":{"group":"d.example","scope":"Namespaced",)"
        R"("names":{"plural":"laws","kind":"Law"},"versions":)",
        ListOf(
            n,
            [](std::size_t i) {
              return cost_law::With(
                  i == 0
                      ? R"({"name":"v1#","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}})"
                      : R"({"name":"v1#","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}})",
                  i);
            }),
        "}}");
  }));
  out.push_back(
      Alone("definitions short names create", "POST", path + "?dryRun=All", [](std::size_t n) {
        return StrCat(
            R"({"metadata":{"name":"laws.d.example"},"spec":{"group":"d.example","scope":"Namespaced",)"
            R"("names":{"plural":"laws","kind":"Law","shortNames":)",
            List(n, R"("s#")"), R"(,"categories":)", List(n, R"("c#")"),
            R"(},"versions":[{"name":"v1","served":true,"storage":true,)"
            R"("schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
      }));
}

// --- Policies ---

std::string Policy(std::string_view members) {
  return StrCat(
      R"({"metadata":{"name":"grown"},"spec":{"matchConstraints":{"resourceRules":)"
      R"([{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["events"]}]},)",
      members, "}}");
}

// Variables of which each reads the one before.
std::string Chain(std::size_t n) {
  return ListOf(n, [](std::size_t i) {
    return i == 0 ? std::string(R"({"name":"v0","expression":"1"})")
                  : StrCat(R"({"name":"v)", std::to_string(i), R"(","expression":"variables.v)",
                           std::to_string(i - 1), "\"}");
  });
}

const Schema kPolicies[] = {
    {"validations",
     [](std::size_t n) {
       return Policy(StrCat(R"("validations":)", List(n, R"({"expression":"object.a != #"})")));
     }},
    {"one long validation",
     [](std::size_t n) {
       return Policy(StrCat(R"("validations":[{"expression":"true)", Repeat(n, " && object.a != 7"),
                            R"("}])"));
     }},
    {"characters that no expression has",
     [](std::size_t n) {
       return Policy(StrCat(R"("validations":[{"expression":")", Repeat(n, "\u00e9"), R"("}])"));
     }},
    {"operators without operands",
     [](std::size_t n) {
       return Policy(StrCat(R"("validations":[{"expression":")", Repeat(n, "a.A-/"), R"("}])"));
     }},
    {"variables",
     [](std::size_t n) {
       return Policy(StrCat(R"("variables":)", List(n, R"({"name":"v#","expression":"1"})"),
                            R"(,"validations":[{"expression":"variables.v1 == 1"}])"));
     }},
    {"variables that are all read",
     [](std::size_t n) {
       return Policy(StrCat(R"("variables":)", List(n, R"({"name":"v#","expression":"1"})"),
                            R"(,"validations":)",
                            List(n, R"({"expression":"variables.v# == 1"})")));
     }},
    {"variables of variables",
     [](std::size_t n) {
       return Policy(
           StrCat(R"("variables":)", Chain(n), R"(,"validations":[{"expression":"true"}])"));
     }},
    {"variables of variables, read",
     [](std::size_t n) {
       return Policy(StrCat(R"("variables":)", Chain(n), R"(,"validations":[{"expression":)",
                            R"("variables.v)", std::to_string(n - 1), R"( == 1"}])"));
     }},
    {"audit annotations",
     [](std::size_t n) {
       return Policy(
           StrCat(R"("auditAnnotations":)", List(n, R"({"key":"k#","valueExpression":"'x'"})")));
     }},
    {"match conditions",
     [](std::size_t n) {
       return Policy(StrCat(R"("matchConditions":)",
                            List(n, R"({"name":"m#","expression":"true"})"),
                            R"(,"validations":[{"expression":"true"}])"));
     }},
    {"a long list in an expression",
     [](std::size_t n) {
       return Policy(
           StrCat(R"("validations":[{"expression":"object.a in )", List(n, "#"), R"("}])"));
     }},
    {"a deep expression",
     [](std::size_t n) {
       return Policy(StrCat(R"("validations":[{"expression":")", Repeat(n, "("), "true",
                            Repeat(n, ")"), R"("}])"));
     }},
    {"a long text in an expression",
     [](std::size_t n) {
       return Policy(
           StrCat(R"("validations":[{"expression":"object.a == ')", Repeat(n, "x"), "'\"}]"));
     }},
};

void AddPolicies(std::vector<Family>& out) {
  const std::string group = "/apis/admissionregistration.k8s.io/v1/";
  const std::string path = group + "validatingadmissionpolicies";
  for (const Schema& policy : kPolicies) {
    out.push_back(Alone(StrCat("policies ", policy.name, " create"), "POST", path + "?dryRun=All",
                        policy.spec));
    out.push_back({StrCat("policies ", policy.name, " evaluate"), [=](std::size_t n) {
                     const std::string bindings = group + "validatingadmissionpolicybindings";
                     const std::string binding =
                         R"({"metadata":{"name":"grown"},"spec":{"policyName":"grown",)"
                         R"("validationActions":["Deny"]}})";
                     Sample sample;
                     sample.before = {{"POST", path, policy.spec(n)}, {"POST", bindings, binding}};
                     sample.measured = {
                         "POST", "/api/v1/namespaces/default/events?dryRun=All",
                         R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})"};
                     sample.after = {path + "/grown", bindings + "/grown"};
                     return sample;
                   }});
  }
  out.push_back(
      {"policies params of a selector evaluate", [=](std::size_t n) {
         Sample sample;
         const std::string maps = "/api/v1/namespaces/law/configmaps";
         sample.before.push_back(
             {"POST", maps,
              StrCat(R"({"metadata":{"name":"grown"},"data":)", Map(n, R"("k#":"v")"), "}")});
         sample.measured = {"POST", "/api/v1/namespaces/law/secrets?dryRun=All",
                            StrCat(R"({"metadata":{"name":"s","labels":{}},"stringData":)",
                                   Map(n, R"("k#":"v")"), "}")};
         sample.after = {maps + "/grown"};
         return sample;
       }});
  out.push_back(
      {"policies match rules evaluate", [=](std::size_t n) {
         Sample sample;
         sample.before = {
             {"POST", path,
              StrCat(
                  R"({"metadata":{"name":"grown"},"spec":{"matchConstraints":)"
                  R"({"resourceRules":)",
                  List(
                      n,
                      R"({"apiGroups":["g#"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["events"],"resourceNames":["n#"]})"),
                  R"(},"validations":[{"expression":"true"}]}})")}};
         sample.measured = {
             "POST", "/api/v1/namespaces/default/events?dryRun=All",
             R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})"};
         sample.after = {path + "/grown"};
         return sample;
       }});
}

// --- Others ---

void AddOthers(std::vector<Family>& out) {
  const auto create = [&](std::string_view name, std::string_view path,
                          std::function<std::string(std::size_t)> body) {
    out.push_back(
        Alone(StrCat(name, " create"), "POST", StrCat(path, "?dryRun=All"), std::move(body)));
  };
  const std::string hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  create("webhooks", hooks, [](std::size_t n) {
    return StrCat(
        R"({"metadata":{"name":"w"},"webhooks":)",
        List(n, R"({"name":"w#.g.example","admissionReviewVersions":["v1"],"sideEffects":"None",)"
                R"("clientConfig":{"url":"https://127.0.0.1:1/"},"rules":[{"apiGroups":["g"],)"
                R"("apiVersions":["v1"],"operations":["CREATE"],"resources":["r#"]}]})"),
        "}");
  });
  create("webhook rules", hooks, [](std::size_t n) {
    return StrCat(
        R"({"metadata":{"name":"w"},"webhooks":[{"name":"w.g.example","sideEffects":"None",)"
        R"("admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"},"rules":)",
        List(
            n,
            R"({"apiGroups":["g#"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["r#"]})"),
        "}]}");
  });
  create("webhook rule of many resources", hooks, [](std::size_t n) {
    return StrCat(
        R"({"metadata":{"name":"w"},"webhooks":[{"name":"w.g.example","sideEffects":"None",)"
        R"("admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"},"rules":)"
        R"([{"apiGroups":["g"],"apiVersions":["v1"],"operations":["CREATE"],"resources":)",
        List(n, R"("r#/*","r#/s")"), "}]}]}");
  });
  const std::string services = "/api/v1/namespaces/law/services";
  const auto ports = [](std::string_view element) {
    return [=](std::size_t n) {
      return StrCat(R"({"metadata":{"name":"law"},"spec":{"ports":)", List(n, element), "}}");
    };
  };
  create("service ports", services, ports(R"({"name":"p#","port":#})"));
  create("service ports of one name", services, ports(R"({"name":"p","port":80})"));
  create("service node ports", services, [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"law"},"spec":{"type":"NodePort","ports":)",
                  List(n, R"({"name":"p#","port":#})"), "}}");
  });
  out.push_back(Change("service ports update",
                       {services, ports(R"({"name":"p#","port":1#,"targetPort":80})"), "PUT",
                        "application/json", ports(R"({"name":"p#","port":1#,"targetPort":81})")}));
  out.push_back(Change("service ports strategic merge",
                       {services, ports(R"({"name":"p#","port":1#})"), "PATCH", kStrategic,
                        ports(R"({"port":1#,"targetPort":81})")}));
  create("role rules", "/apis/rbac.authorization.k8s.io/v1/clusterroles", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"r"},"rules":)",
                  List(n, R"({"apiGroups":["g#"],"resources":["r#"],"verbs":["get"]})"), "}");
  });
  create("role of many resources", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
         [](std::size_t n) {
           return StrCat(R"({"metadata":{"name":"r"},"rules":[{"apiGroups":["g"],"resources":)",
                         List(n, R"("r#")"), R"(,"verbs":["get"]}]})");
         });
  create("quota", "/api/v1/namespaces/law/resourcequotas", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},"spec":{"hard":)",
                  Map(n, R"("count/r#.g.example":"1")"), "}}");
  });
  create("limit range", "/api/v1/namespaces/law/limitranges", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},"spec":{"limits":)",
                  List(n, R"({"type":"x.example/t#","max":{"cpu":"1"}})"), "}}");
  });
  create("endpoints", "/api/v1/namespaces/law/endpoints", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},"subsets":[{"addresses":)",
                  ListOf(n,
                         [](std::size_t i) {
                           return StrCat(R"({"ip":"10.)", std::to_string(i / 65536 % 256), ".",
                                         std::to_string(i / 256 % 256), ".",
                                         std::to_string(i % 256), "\"}");
                         }),
                  R"(,"ports":[{"port":80}]}]})");
  });
  create("network policy rules", "/apis/networking.k8s.io/v1/namespaces/law/networkpolicies",
         [](std::size_t n) {
           return StrCat(R"({"metadata":{"name":"x"},"spec":{"podSelector":{},"ingress":[{"from":)",
                         List(n, R"({"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}})"),
                         "}]}}");
         });
  create("ingress rules", "/apis/networking.k8s.io/v1/namespaces/law/ingresses", [](std::size_t n) {
    return StrCat(
        R"({"metadata":{"name":"x"},"spec":{"rules":)",
        List(n, R"({"host":"h#.example","http":{"paths":[{"path":"/","pathType":"Prefix",)"
                R"("backend":{"service":{"name":"s","port":{"number":80}}}}]}})"),
        "}}");
  });
  create("resource slice devices", "/apis/resource.k8s.io/v1/resourceslices", [](std::size_t n) {
    return StrCat(R"({"metadata":{"name":"x"},"spec":{"driver":"d.example","nodeName":"n","pool":)"
                  R"({"name":"p","generation":1,"resourceSliceCount":1},"devices":)",
                  List(n, R"({"name":"d#","attributes":{"a":{"int":#}}})"), "}}");
  });
  create("stateful set claims", "/apis/apps/v1/namespaces/law/statefulsets", [](std::size_t n) {
    return StrCat(
        R"({"metadata":{"name":"x"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},)"
        R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],)"
        R"("volumes":)",
        List(n, R"({"name":"v#","emptyDir":{}})"), R"(}},"volumeClaimTemplates":)",
        List(n, R"({"metadata":{"name":"v#"},"spec":{"accessModes":["ReadWriteOnce"],)"
                R"("resources":{"requests":{"storage":"1"}}}})"),
        "}}");
  });
}

}  // namespace

void AddDefinitions(std::vector<Family>& out) {
  AddCustomResourceDefinitions(out);
  AddPolicies(out);
  AddOthers(out);
}

}  // namespace portcullis::cost_law
