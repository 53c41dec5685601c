// SPDX-License-Identifier: Apache-2.0

// What policies cost.
#include "base/strings.h"
#include "goals.h"

namespace portcullis::load {
namespace {

constexpr std::string_view kPolicies =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
constexpr std::string_view kBindings =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

std::string PolicyText(std::string_view name, std::string_view resource,
                       std::string_view expression) {
  return base::StrCat(
      R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",)",
      R"("metadata":{"name":")", name, R"("},"spec":{"matchConstraints":{"resourceRules":[)",
      R"({"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["v1"],"resources":[")", resource,
      R"("]}]},"validations":[{"expression":")", expression, R"("}]}})");
}

std::string BindingText(std::string_view name, std::string_view policy) {
  return base::StrCat(
      R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",)",
      R"("metadata":{"name":")", name, R"("},"spec":{"policyName":")", policy,
      R"(","validationActions":["Deny"]}})");
}

std::string Numbered(std::string_view prefix, std::size_t number) {
  return base::StrCat(prefix, std::to_string(number));
}

// Policies of these numbers; every expression is another one.
base::Status CreatePolicies(const Target& target, std::size_t from, std::size_t to,
                            const std::function<std::string(std::size_t)>& resource) {
  return CreateMany(target, kPolicies, to - from, [&](std::size_t at) {
    const std::size_t i = from + at;
    return PolicyText(Numbered("p-", i), resource(i),
                      base::StrCat("object.metadata.name != 'refused-", std::to_string(i), "'"));
  });
}

// `count` policies with a binding each.
base::Status CreateBound(const Target& target, std::size_t count,
                         const std::function<std::string(std::size_t)>& resource) {
  TRY(CreatePolicies(target, 0, count, resource));
  return CreateMany(target, kBindings, count, [&](std::size_t i) {
    return BindingText(Numbered("p-", i), Numbered("p-", i));
  });
}

base::Status CheckEnforced(const Target& target, const std::string& name) {
  const int code =
      target.Call("POST", "/api/v1/namespaces/default/configmaps", ConfigMapText(name));
  return code == 422 ? base::OkStatus() : base::ConfigError("the policies are not enforced");
}

void AddAddedCpu(Workshop& shop, const Duel& duel, const std::string& what) {
  constexpr double kTarget = 20.0 / 100;  // of kube-apiserver's 20 ms
  const double added = duel.second.cpu_milliseconds - duel.first.cpu_milliseconds;
  shop.findings.push_back(
      {.what = what,
       .figure = Format("%.1f us", added * 1000),
       .baseline = Format("%.1f us without", duel.first.cpu_milliseconds * 1000),
       .ratio = duel.cpu.value,
       .target = "<= 200 us (kube-apiserver 20 ms)",
       .met = added <= kTarget});
}

}  // namespace

base::Status MatchingPolicies(Workshop& shop) {
  const auto none = TRY(shop.Serve());
  const auto many = TRY(shop.Serve());
  TRY(CreateBound(many->target(), 50, [](std::size_t) { return "configmaps"; }));
  TRY(CheckEnforced(many->target(), "refused-49"));
  const Duel duel = Alternate({&none->target(), CreateConfigMaps(none->target(), "default")},
                              {&many->target(), CreateConfigMaps(many->target(), "default")},
                              shop.options().connections);
  AddAddedCpu(shop, duel, "CPU added to a create by 50 matching policies");
  return base::OkStatus();
}

base::Status IdlePolicies(Workshop& shop) {
  constexpr std::size_t kCount = 10'000;
  const auto none = TRY(shop.Serve());
  const auto many = TRY(shop.Serve());
  const auto start = base::SystemClock().Steady();
  TRY(CreateBound(many->target(), kCount, [](std::size_t i) { return Numbered("widgets", i); }));
  const std::chrono::duration<double> took = base::SystemClock().Steady() - start;
  many->Settle();
  const Duel duel = AlternateOften({&none->target(), CreateConfigMaps(none->target(), "default")},
                                   {&many->target(), CreateConfigMaps(many->target(), "default")},
                                   shop.options().connections);
  AddIdle(shop, duel, "10,000 policies and bindings");
  shop.findings.push_back(
      {.what = "creating 10,000 policies and bindings", .figure = Format("%.1f s", took.count())});
  return base::OkStatus();
}

base::Status ManyBindings(Workshop& shop) {
  constexpr std::size_t kCount = 1024;
  const auto none = TRY(shop.Serve());
  const auto many = TRY(shop.Serve());
  TRY(CreatePolicies(many->target(), 0, 1, [](std::size_t) { return "configmaps"; }));
  TRY(CreateMany(many->target(), kBindings, kCount,
                 [](std::size_t i) { return BindingText(Numbered("b-", i), "p-0"); }));
  TRY(CheckEnforced(many->target(), "refused-0"));
  const Duel duel = Alternate({&none->target(), CreateConfigMaps(none->target(), "default")},
                              {&many->target(), CreateConfigMaps(many->target(), "default")},
                              shop.options().connections, 8);
  shop.findings.push_back({.what = "requests/s, 1,024 bindings match",
                           .figure = Format("%.0f", duel.second.requests_per_second),
                           .baseline = Format("%.0f without", duel.first.requests_per_second),
                           .ratio = duel.rate.value,
                           .target = ">= 2,000/s",
                           .met = duel.second.requests_per_second >= 2000});
  AddAddedCpu(shop, duel, "CPU added to a create by 1,024 bindings");
  return base::OkStatus();
}

base::Status PolicyMemory(Workshop& shop) {
  constexpr std::size_t kPolicyCount = 1000;
  constexpr std::size_t kBindingCount = kPolicyCount * 300;
  constexpr std::size_t kFirst = 200;  // they make what all share: connections, threads, caches
  const auto server = TRY(shop.Serve());
  const auto resource = [](std::size_t i) { return Numbered("widgets", i); };
  TRY(CreatePolicies(server->target(), 0, kFirst, resource));
  server->Settle();
  const double with_first = server->megabytes();
  TRY(CreatePolicies(server->target(), kFirst, kPolicyCount, resource));
  server->Settle();
  const double with_policies = server->megabytes();
  const auto start = base::SystemClock().Steady();
  TRY(CreateMany(server->target(), kBindings, kBindingCount, [&](std::size_t i) {
    return BindingText(Numbered("b-", i), Numbered("p-", i % kPolicyCount));
  }));
  const std::chrono::duration<double> took = base::SystemClock().Steady() - start;
  server->Settle();
  const double with_bindings = server->megabytes();
  std::string stored;
  server->target().Call("GET", base::StrCat(kBindings, "/b-1"), "", &stored);
  const double per_policy = (with_policies - with_first) * 1024 / (kPolicyCount - kFirst);
  const double per_binding = (with_bindings - with_policies) * 1024 / kBindingCount;
  shop.findings.push_back({.what = "a policy with one distinct validation",
                           .figure = Format("%.2f KB", per_policy),
                           .target = "<= 10 KB",
                           .met = per_policy <= 10});
  shop.findings.push_back(
      {.what = "a binding, stored object and history included",
       .figure = Format("%.2f KB", per_binding),
       .baseline = Format("%.2f KB stored", static_cast<double>(stored.size()) / 1024),
       .ratio = per_binding * 1024 / static_cast<double>(stored.size()),
       .target = "<= 1 KB",
       .met = per_binding <= 1});
  shop.findings.push_back({.what = "1,000 policies x 300 bindings",
                           .figure = Format("%.0f MB", with_bindings),
                           .target = "<= 300 MB",
                           .met = with_bindings <= 300});
  shop.findings.push_back({.what = "creating bindings, per second",
                           .figure = Format("%.0f", kBindingCount / took.count())});
  return base::OkStatus();
}

}  // namespace portcullis::load
