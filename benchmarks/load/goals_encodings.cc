// SPDX-License-Identifier: Apache-2.0

// Requests in protobuf and in CBOR beside the same in JSON, of one server in turn.
#include "base/strings.h"
#include "encodings.h"
#include "goals.h"
#include "objects.h"

namespace portcullis::load {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::size_t kListed = 500;

MakeRequest Creates(const Target& target, const Encoding& encoding) {
  return [&target, encoding](std::size_t number) {
    const auto body = std::make_shared<const std::string>(
        encoding.encode(PodText(base::StrCat("o-", std::to_string(number)))));
    return In(encoding, target.Request("POST", base::StrCat(kPods, "?dryRun=All"), body));
  };
}

MakeRequest Reads(const Target& target, const Encoding& encoding, std::string_view what) {
  return [&target, encoding, path = base::StrCat(kPods, what)](std::size_t) {
    return In(encoding, target.Request("GET", path));
  };
}

void Add(Workshop& shop, const Duel& duel, std::string_view what) {
  shop.findings.push_back({.what = base::StrCat(what, ", CPU"),
                           .figure = Format("%.3f ms", duel.second.cpu_milliseconds),
                           .baseline = Format("%.3f ms in JSON", duel.first.cpu_milliseconds),
                           .ratio = duel.cpu.value,
                           .spread = duel.cpu.spread,
                           .target = "<= 1",
                           .met = duel.cpu.value - duel.cpu.spread <= 1});
  shop.findings.push_back({.what = "    requests/s",
                           .figure = Format("%.0f", duel.second.requests_per_second),
                           .baseline = Format("%.0f in JSON", duel.first.requests_per_second),
                           .ratio = duel.rate.value,
                           .spread = duel.rate.spread});
}

// Creates, reads and lists in another encoding beside those in JSON.
base::Status BesideJson(Workshop& shop, const Encoding& encoding, const std::string& flags) {
  constexpr int kConnections = 4;
  constexpr int kSlices = 20;
  constexpr double kSeconds = 0.15;
  const auto server = TRY(shop.Serve(flags));
  const Target& target = server->target();
  TRY(CreateMany(target, kPods, kListed,
                 [](std::size_t i) { return PodText(base::StrCat("p-", std::to_string(i))); }));
  const auto duel = [&](const MakeRequest& json, const MakeRequest& other,
                        std::string_view what) -> base::Status {
    const Duel result =
        Alternate({&target, json}, {&target, other}, kConnections, kSlices, kSeconds);
    Add(shop, result, what);
    if (result.first.errors > 0) return base::ConfigError(result.first.first_error);
    if (result.second.errors > 0) return base::ConfigError(result.second.first_error);
    return base::OkStatus();
  };
  TRY(duel(Creates(target, kJson), Creates(target, encoding), "create a Pod (dry run)"));
  TRY(duel(Reads(target, kJson, "/p-1"), Reads(target, encoding, "/p-1"), "get a Pod"));
  return duel(Reads(target, kJson, ""), Reads(target, encoding, ""), "list 500 Pods");
}

}  // namespace

base::Status ProtobufBesideJson(Workshop& shop) { return BesideJson(shop, kProtobuf, ""); }

base::Status CborBesideJson(Workshop& shop) {
  return BesideJson(shop, kCbor, "--feature-gates=CBORServingAndStorage=true");
}

}  // namespace portcullis::load
