// SPDX-License-Identifier: Apache-2.0

// CEL over large objects: each function on a text or a list as large as the request. What is a loop
// in a loop by its own words (sets.contains, "k in list" for each k) is left out: the cost limit of
// the language bounds that.
#include "base/strings.h"
#include "named.h"

namespace portcullis::cost_law {
namespace {

using base::StrCat;

// On object.data.t, a text of n "a" with one "b" at its end, and object.data.p, half as many "a"
// with a "b": what makes naive searches quadratic.
constexpr std::string_view kOfTexts[] = {
    "object.data.t.contains(object.data.p)",
    "object.data.t.indexOf(object.data.p) != 0",
    "object.data.t.lastIndexOf(object.data.p) != 0",
    "object.data.t.replace(object.data.p, 'x') != ''",
    "object.data.t.replace('a', 'bb') != ''",
    "object.data.t.split('a').size() > 0",
    "object.data.t.split(object.data.p).size() > 0",
    "object.data.t.split('').join('').size() > 0",
    "object.data.t.lowerAscii().upperAscii().trim() != ''",
    "object.data.t.reverse() != ''",
    "object.data.t.substring(1).charAt(3) != ''",
    "object.data.t.startsWith(object.data.p) || object.data.t.endsWith(object.data.p)",
    "object.data.t.matches('^(a|aa)+$')",
    "object.data.t.matches('(a*)*b$')",
    "object.data.t.find('a+b') != 'x'",
    "object.data.t.findAll('a').size() > 0",
    "object.data.t.findAll('a*b').size() > 0",
    "object.data.t.size() > 0 && object.data.t < object.data.p",
    "bytes(object.data.t).size() > 0",
    "isURL(object.data.t) || isIP(object.data.t) || isQuantity(object.data.t)",
    "(object.data.t + object.data.p).size() > 0",
    "'%s %s'.format([object.data.t, object.data.p]) != ''",
    "base64.encode(bytes(object.data.t)) != ''",
};

// On object.data, a map of n entries.
constexpr std::string_view kOfMaps[] = {
    "object.data.all(k, k != '')",
    "object.data.exists(k, k == 'none')",
    "object.data.map(k, k).size() > 0",
    "object.data.filter(k, k != 'k1').size() > 0",
    "object.data.map(k, k).isSorted() || true",
    "object.data.map(k, k).sort().size() >= 0",
    "object.data.map(k, k) == object.data.map(k, k)",
    "object.data == object.data",
    "object.data.map(k, k).join(',') != ''",
    "object.data.map(k, [k]).size() > 0",
    "sets.intersects(object.data.map(k, k), ['none'])",
    "object.data.map(k, k).indexOf('none') < 0",
    "object.data.map(k, k).sum() != ''",
    "'none' in object.data.map(k, k)",
    "object.data.map(k, object.data[k]).size() > 0",
    "object.data.all(k, k in object.data)",
    "object.data.transformMap(k, v, v).size() > 0",
    "object.data.transformList(k, v, v).size() > 0",
};

std::string Texts(std::size_t n) {
  return StrCat(R"({"metadata":{"name":"x"},"data":{"t":")", Repeat(n, "a"), R"(b","p":")",
                Repeat(n / 2, "a"), "bb\"}}");
}

std::string Entries(std::size_t n) {
  return StrCat(R"({"metadata":{"name":"x"},"data":)", Map(n, R"("k#":"v#")"), "}");
}

Family Evaluate(std::string_view expression, std::string (*body)(std::size_t)) {
  const std::string group = "/apis/admissionregistration.k8s.io/v1/";
  const std::string policies = group + "validatingadmissionpolicies";
  const std::string bindings = group + "validatingadmissionpolicybindings";
  const std::string policy = StrCat(
      R"({"metadata":{"name":"cel"},"spec":{"matchConstraints":{"resourceRules":)"
      R"([{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},)"
      R"("validations":[{"expression":")",
      expression, "\"}]}}");
  const std::string binding =
      R"({"metadata":{"name":"cel"},"spec":{"policyName":"cel","validationActions":["Deny"]}})";
  return {StrCat("cel ", expression), [=](std::size_t n) {
            Sample sample;
            sample.before = {{"POST", policies, policy}, {"POST", bindings, binding}};
            sample.measured = {"POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body(n)};
            sample.after = {bindings + "/cel", policies + "/cel"};
            return sample;
          }};
}

}  // namespace

void AddExpressions(std::vector<Family>& out) {
  for (const std::string_view expression : kOfTexts) out.push_back(Evaluate(expression, Texts));
  for (const std::string_view expression : kOfMaps) out.push_back(Evaluate(expression, Entries));
}

}  // namespace portcullis::cost_law
