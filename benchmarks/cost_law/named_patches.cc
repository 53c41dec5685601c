// SPDX-License-Identifier: Apache-2.0

// Patches of all four types on objects that are as large.
#include "base/strings.h"
#include "named.h"

namespace portcullis::cost_law {
namespace {

using base::StrCat;

constexpr std::size_t kMostOperations = 10'000;  // kube-apiserver's limit for JSON patches
constexpr std::string_view kMaps = "/api/v1/namespaces/law/configmaps";

std::string Data(std::size_t n, std::string_view entry) {
  return StrCat(R"({"metadata":{"name":"law"},"data":)", Map(n, entry), "}");
}

std::string Listed(std::size_t n) {
  return StrCat(R"({"metadata":{"name":"law","finalizers":)", List(n, R"("a.example/f#")"), "}}");
}

std::string Env(std::size_t n, bool reverse, std::string_view entry) {
  return StrCat(
      R"({"spec":{"template":{"spec":{"containers":[{"name":"c","env":)",
      ListOf(n, [&](std::size_t i) { return cost_law::With(entry, reverse ? n - 1 - i : i); }),
      "}]}}}}");
}

std::string Deployment(std::size_t n) {
  return StrCat(
      R"({"metadata":{"name":"law"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":)"
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","env":)",
      List(n, R"({"name":"E#","value":"v#"})"), "}]}}}}");
}

struct JsonPatch {
  std::string_view name;
  std::string (*before)(std::size_t n);
  std::string_view operation;
};

std::string Keys(std::size_t n) { return Data(n, R"("k#":"v#")"); }

constexpr JsonPatch kJsonPatches[] = {
    {"add members", Keys, R"({"op":"add","path":"/data/x#","value":"y"})"},
    {"remove members", Keys, R"({"op":"remove","path":"/data/k#"})"},
    {"replace members", Keys, R"({"op":"replace","path":"/data/k#","value":"y"})"},
    {"test members", Keys, R"({"op":"test","path":"/data/k#","value":"v#"})"},
    {"move members", Keys, R"({"op":"move","from":"/data/k#","path":"/data/m#"})"},
    {"copy members", Keys, R"({"op":"copy","from":"/data/k#","path":"/data/m#"})"},
    {"move the whole map", Keys, R"({"op":"move","from":"/data","path":"/data"})"},
    {"append elements", Listed, R"({"op":"add","path":"/metadata/finalizers/-","value":"a.b/x#"})"},
    {"insert in front", Listed, R"({"op":"add","path":"/metadata/finalizers/0","value":"a.b/x#"})"},
    {"remove the first", Listed, R"({"op":"remove","path":"/metadata/finalizers/0"})"},
    {"move the first", Listed,
     R"({"op":"move","from":"/metadata/finalizers/0","path":"/metadata/finalizers/-"})"},
};

void AddStrategic(std::vector<Family>& out) {
  const std::string deployments = "/apis/apps/v1/namespaces/law/deployments";
  const auto add = [&](std::string name, std::function<std::string(std::size_t)> body) {
    out.push_back(Change(StrCat("strategic merge ", name),
                         {deployments, Deployment, "PATCH", kStrategic, std::move(body)}));
  };
  add("env in order", [](std::size_t n) { return Env(n, false, R"({"name":"E#","value":"w#"})"); });
  add("env in reverse",
      [](std::size_t n) { return Env(n, true, R"({"name":"E#","value":"w#"})"); });
  add("new env", [](std::size_t n) { return Env(n, false, R"({"name":"N#","value":"w#"})"); });
  add("delete env",
      [](std::size_t n) { return Env(n, true, R"({"name":"E#","$patch":"delete"})"); });
  add("env of one name",
      [](std::size_t n) { return Env(n, false, R"({"name":"E1","value":"#"})"); });
  add("element order", [](std::size_t n) {
    return StrCat(
        R"({"spec":{"template":{"spec":{"containers":[{"name":"c",)"
        R"("$setElementOrder/env":)",
        ListOf(n, [&](std::size_t i) { return cost_law::With(R"({"name":"E#"})", n - 1 - i); }),
        R"(,"env":)", List(n, R"({"name":"E#","value":"w"})"), "}]}}}}");
  });
  add("retain keys", [](std::size_t n) {
    return StrCat(R"({"spec":{"template":{"spec":{"volumes":)",
                  List(n, R"({"name":"v#","$retainKeys":["name","emptyDir"],"emptyDir":{}})"),
                  "}}}}");
  });
  const std::string maps(kMaps);
  out.push_back(Change("strategic merge delete primitives",
                       {maps, Listed, "PATCH", kStrategic, [](std::size_t n) {
                          return StrCat(R"({"metadata":{"$deleteFromPrimitiveList/finalizers":)",
                                        List(n, R"("a.example/f#")"), "}}");
                        }}));
  out.push_back(Change("strategic merge order primitives",
                       {maps, Listed, "PATCH", kStrategic, [](std::size_t n) {
                          const std::string reversed = ListOf(n, [&](std::size_t i) {
                            return cost_law::With(R"("a.example/f#")", n - 1 - i);
                          });
                          return StrCat(R"({"metadata":{"$setElementOrder/finalizers":)", reversed,
                                        R"(,"finalizers":)", reversed, "}}");
                        }}));
}

void AddApply(std::vector<Family>& out) {
  const auto apply = [](std::string_view kind, std::string_view rest) {
    return StrCat(R"({"apiVersion":"v1","kind":")", kind, R"(","metadata":{"name":"law"},)", rest,
                  "}");
  };
  const std::string maps(kMaps);
  out.push_back(Change("apply other fields",
                       {maps, Keys, "PATCH", kApply, [=](std::size_t n) {
                          return apply("ConfigMap", StrCat(R"("data":)", Map(n, R"("x#":"y")")));
                        }}));
  out.push_back(Change("apply the same fields",
                       {maps, Keys, "PATCH", kApply, [=](std::size_t n) {
                          return apply("ConfigMap", StrCat(R"("data":)", Map(n, R"("k#":"y")")));
                        }}));
  // What its last apply had and this one has not is removed.
  out.push_back(
      {"apply fewer fields", [=](std::size_t n) {
         const std::string path = StrCat(maps, "/law?fieldManager=law&force=true");
         Sample sample;
         sample.before = {{"PATCH", path,
                           apply("ConfigMap", StrCat(R"("data":)", Map(n, R"("k#":"v")"))),
                           std::string(kApply)}};
         sample.measured = {"PATCH", path + "&dryRun=All",
                            apply("ConfigMap", R"("data":{"k1":"v"})"), std::string(kApply)};
         sample.after = {maps + "/law"};
         return sample;
       }});
  out.push_back(
      {"apply conflicts", [=](std::size_t n) {
         const std::string path = StrCat(maps, "/law?fieldManager=");
         const auto body = [&](std::string_view value) {
           return apply("ConfigMap",
                        StrCat(R"("data":)", Map(n, StrCat(R"("k#":")", value, "\""))));
         };
         Sample sample;
         sample.before = {{"PATCH", path + "a", body("v"), std::string(kApply)}};
         sample.measured = {"PATCH", path + "b&dryRun=All", body("w"), std::string(kApply)};
         sample.after = {maps + "/law"};
         return sample;
       }});
  out.push_back(Alone(
      "managed fields entries create", "POST", StrCat(kMaps, "?dryRun=All"), [](std::size_t n) {
        return StrCat(R"({"metadata":{"name":"law","managedFields":)",
                      List(n, R"({"manager":"m#","operation":"Update","apiVersion":"v1",)"
                              R"("fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k#":{}}}})"),
                      "}}");
      }));
  out.push_back(Alone("managed fields of one entry create", "POST", StrCat(kMaps, "?dryRun=All"),
                      [](std::size_t n) {
                        return StrCat(
                            R"({"metadata":{"name":"law","managedFields":[{"manager":"m",)"
                            R"("operation":"Update","apiVersion":"v1",)"
                            R"("fieldsType":"FieldsV1","fieldsV1":{"f:data":)",
                            Map(n, R"("f:k#":{})"), "}}]}}");
                      }));
  out.push_back(Change(
      "update with many managers",
      {maps,
       [](std::size_t n) {
         return StrCat(R"({"metadata":{"name":"law","managedFields":)",
                       List(n, R"({"manager":"m#","operation":"Apply","apiVersion":"v1",)"
                               R"("fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k#":{}}}})"),
                       R"(},"data":)", Map(n, R"("k#":"v")"), "}");
       },
       "PATCH", kMerge, [](std::size_t n) { return Data(n, R"("k#":"w")"); }}));
}

}  // namespace

void AddPatches(std::vector<Family>& out) {
  const std::string maps(kMaps);
  for (const JsonPatch& patch : kJsonPatches) {
    Family family =
        Change(StrCat("json patch ", patch.name),
               {maps, patch.before, "PATCH", kJsonPatch,
                [operation = patch.operation](std::size_t n) { return List(n, operation); }});
    family.most = kMostOperations;
    out.push_back(std::move(family));
  }
  // The map is opened first: what is moved then is what the operations before have made of it.
  Family opened =
      Change("json patch move the opened map",
             {maps, Keys, "PATCH", kJsonPatch, [](std::size_t n) {
                const std::string moves = List(n, R"({"op":"move","from":"/data","path":"/x"},)"
                                                  R"({"op":"move","from":"/x","path":"/data"})");
                return StrCat(R"([{"op":"test","path":"/data/k1","value":"v1"},)", moves.substr(1));
              }});
  opened.most = kMostOperations / 2 - 1;
  out.push_back(std::move(opened));
  // A "from" that its operation does not use, and an object that its type refuses.
  out.push_back(Change("json patch far pointer",
                       {maps, Keys, "PATCH", kJsonPatch, [](std::size_t n) {
                          return StrCat(R"([{"op":"add","path":"/data","value":7,"from":")",
                                        Repeat(n, "/a"), R"("}])");
                        }}));
  out.push_back(Change("merge patch set", {maps, Keys, "PATCH", kMerge,
                                           [](std::size_t n) { return Data(n, R"("k#":"w")"); }}));
  out.push_back(Change("merge patch remove", {maps, Keys, "PATCH", kMerge, [](std::size_t n) {
                                                return Data(n, R"("k#":null)");
                                              }}));
  out.push_back(Change(
      "strategic merge remove members",
      {maps, Keys, "PATCH", kStrategic, [](std::size_t n) { return Data(n, R"("k#":null)"); }}));
  AddStrategic(out);
  AddApply(out);
}

}  // namespace portcullis::cost_law
