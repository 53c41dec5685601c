// SPDX-License-Identifier: Apache-2.0

// Permissions: authorizer.group('apps').resource('deployments').check('create').allowed().
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "cel/library/costs.h"
#include "cel/program.h"
#include "kube_cel/access.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/rows.h"

namespace portcullis::kube_cel {
namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Style;
using cel::Value;

constexpr cel::Type kAuthorizerType{
    cel::TypeKind::kOpaque, "kubernetes.authorization.Authorizer", {}};
constexpr cel::Type kPathCheckType{
    cel::TypeKind::kOpaque, "kubernetes.authorization.PathCheck", {}};
constexpr cel::Type kGroupCheckType{
    cel::TypeKind::kOpaque, "kubernetes.authorization.GroupCheck", {}};
constexpr cel::Type kResourceCheckType{
    cel::TypeKind::kOpaque, "kubernetes.authorization.ResourceCheck", {}};
constexpr cel::Type kDecisionType{cel::TypeKind::kOpaque, "kubernetes.authorization.Decision", {}};

// All of the values are one class: a question under way, or its answer.
class Access final : public cel::Object {
 public:
  Access(const cel::Type& type, AccessChecker& checker, AccessQuestion question,
         std::shared_ptr<const api::UserInfo> service_account = nullptr)
      : type_(&type),
        checker_(&checker),
        question_(std::move(question)),
        service_account_(std::move(service_account)) {}
  Access(const Access& from, const AccessAnswer& answer) : Access(from) {
    type_ = &kDecisionType;
    answer_ = &answer;
  }
  Access(const Access&) = default;
  ~Access() = default;

  const cel::Type* type() const override { return type_; }
  // Nothing is equal to them in Kubernetes, not even they themselves.
  Value Equals(json::Arena&, Value) const override { return cel::NoSuchOverload(); }
  AccessChecker& checker() const { return *checker_; }
  const AccessQuestion& question() const { return question_; }
  const std::shared_ptr<const api::UserInfo>& service_account() const { return service_account_; }
  const AccessAnswer& answer() const { return *answer_; }

 private:
  const cel::Type* type_;
  AccessChecker* checker_;
  AccessQuestion question_;
  std::shared_ptr<const api::UserInfo> service_account_;  // owner of question_.user
  const AccessAnswer* answer_ = nullptr;
};

const Access& Of(Value value) { return *static_cast<const Access*>(value.object()); }

Value Next(EvalContext& context, const Access& from, const cel::Type& type,
           AccessQuestion question) {
  return Value::FromObject(cel::New<Access>(context.arena(), type, from.checker(),
                                            std::move(question), from.service_account()));
}

Value Path(EvalContext& context, std::span<const Value> args) {
  if (args[1].text().empty()) return context.Error("path must not be empty");
  AccessQuestion question = Of(args[0]).question();
  question.resource_request = false;
  question.path = args[1].text();
  return Next(context, Of(args[0]), kPathCheckType, std::move(question));
}

Value Group(EvalContext& context, std::span<const Value> args) {
  AccessQuestion question = Of(args[0]).question();
  question.group = args[1].text();
  return Next(context, Of(args[0]), kGroupCheckType, std::move(question));
}

Value ServiceAccount(EvalContext& context, std::span<const Value> args) {
  const std::string_view ns = args[1].text();
  const std::string_view name = args[2].text();
  if (!api::IsDns1123Subdomain(name).empty()) {
    return context.Error("Invalid service account name");
  }
  if (!api::IsDns1123Label(ns).empty()) {
    return context.Error("Invalid service account namespace");
  }
  auto user = std::make_shared<api::UserInfo>();
  user->name = base::StrCat("system:serviceaccount:", ns, ":", name);
  user->groups = {"system:serviceaccounts", base::StrCat("system:serviceaccounts:", ns),
                  std::string(api::kGroupAuthenticated)};
  AccessQuestion question;
  question.user = user.get();
  return Value::FromObject(cel::New<Access>(context.arena(), kAuthorizerType, Of(args[0]).checker(),
                                            std::move(question), std::move(user)));
}

Value Resource(EvalContext& context, std::span<const Value> args) {
  if (args[1].text().empty()) return context.Error("resource must not be empty");
  AccessQuestion question = Of(args[0]).question();
  question.resource = args[1].text();
  return Next(context, Of(args[0]), kResourceCheckType, std::move(question));
}

template <std::string AccessQuestion::*member>
Value With(EvalContext& context, std::span<const Value> args) {
  AccessQuestion question = Of(args[0]).question();
  question.*member = args[1].text();
  return Next(context, Of(args[0]), kResourceCheckType, std::move(question));
}

Value Check(EvalContext& context, std::span<const Value> args) {
  AccessQuestion question = Of(args[0]).question();
  question.verb = args[1].text();
  const AccessAnswer& answer = Of(args[0]).checker().Check(question);
  return Value::FromObject(cel::New<Access>(context.arena(), Of(args[0]), answer));
}

Value Allowed(EvalContext&, std::span<const Value> args) {
  return Value::Bool(Of(args[0]).answer().allowed);
}
Value Reason(EvalContext&, std::span<const Value> args) {
  return Value::String(Of(args[0]).answer().reason);
}
Value Errored(EvalContext&, std::span<const Value> args) {
  return Value::Bool(!Of(args[0]).answer().error.empty());
}
Value Error(EvalContext&, std::span<const Value> args) {
  return Value::String(Of(args[0]).answer().error);
}

std::uint64_t CheckCost(std::span<const Value>, Value) { return 350000; }
std::optional<cel::CallEstimate> EstimateCheck(std::span<const cel::EstimatedArgument* const>) {
  return cel::CallEstimate{{350000, 350000}, std::nullopt};
}

// Parsing a selector, with as many requirements as the text could hold.
std::uint64_t SelectorCost(std::span<const Value> args, Value) {
  const std::uint64_t size = cel::CostSize(args[1]);
  return 10 + cel::ScaledCost(size, 0.1) + cel::ScaledCost(cel::ScaledCost(size, 0.5), 50);
}

std::optional<cel::CallEstimate> EstimateSelector(
    std::span<const cel::EstimatedArgument* const> args) {
  const cel::Range size = args[1]->size();
  const cel::Range requirements = cel::ScaleByFactor(cel::ScaleByFactor(size, 0.5), 50);
  return cel::CallEstimate{cel::Range{10, 10} + cel::ScaleByFactor(size, 0.1) + requirements,
                           std::nullopt};
}

constexpr std::string_view kResourceCheck =
    "(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck";

constexpr cel::Function Row(std::string_view name, std::string_view id, std::string_view signature,
                            cel::FunctionImpl impl, std::string_view doc, std::string_view example,
                            int since = 27) {
  return Since(since, Method(name, id, signature, impl, doc, example));
}

constexpr cel::Function Costly(cel::Function row, cel::ActualCost cost,
                               cel::EstimateCall estimate) {
  row.cost = cost;
  row.cost_scope = CostScope::kFunction;
  row.estimate = estimate;
  return row;
}

constexpr std::string_view kExample =
    "authorizer.group('apps').resource('deployments').check('list').allowed()";

constexpr cel::Function kFunctions[] = {
    Row("path", "authorizer_path",
        "(kubernetes.authorization.Authorizer, string) -> kubernetes.authorization.PathCheck",
        &Path, "A check of a path that is no resource.",
        "authorizer.path('/healthz').check('get').allowed()"),
    Row("group", "authorizer_group",
        "(kubernetes.authorization.Authorizer, string) -> kubernetes.authorization.GroupCheck",
        &Group, "A check in an API group.", kExample),
    Row("serviceAccount", "authorizer_serviceaccount",
        "(kubernetes.authorization.Authorizer, string, string) -> "
        "kubernetes.authorization.Authorizer",
        &ServiceAccount, "The same for a service account, by namespace and name.",
        "authorizer.serviceAccount('default', 'sa').path('/').check('get').allowed()"),
    Row("resource", "groupcheck_resource",
        "(kubernetes.authorization.GroupCheck, string) -> kubernetes.authorization.ResourceCheck",
        &Resource, "A check of a resource.", kExample),
    Row("subresource", "resourcecheck_subresource", kResourceCheck,
        &With<&AccessQuestion::subresource>, "A check of a subresource.", kExample),
    Row("namespace", "resourcecheck_namespace", kResourceCheck, &With<&AccessQuestion::ns>,
        "A check in a namespace.", kExample),
    Row("name", "resourcecheck_name", kResourceCheck, &With<&AccessQuestion::name>,
        "A check of one object.", kExample),
    Costly(Row("fieldSelector", "authorizer_fieldselector", kResourceCheck,
               &With<&AccessQuestion::field_selector>, "A check of objects with these fields.",
               kExample, 31),
           &SelectorCost, &EstimateSelector),
    Costly(Row("labelSelector", "authorizer_labelselector", kResourceCheck,
               &With<&AccessQuestion::label_selector>, "A check of objects with these labels.",
               kExample, 31),
           &SelectorCost, &EstimateSelector),
    Costly(Row("check", "pathcheck_check",
               "(kubernetes.authorization.PathCheck, string) -> kubernetes.authorization.Decision",
               &Check, "Asks the authorizer.", kExample),
           &CheckCost, &EstimateCheck),
    Costly(
        Row("check", "resourcecheck_check",
            "(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.Decision",
            &Check, "Asks the authorizer.", kExample),
        &CheckCost, &EstimateCheck),
    Row("allowed", "decision_allowed", "(kubernetes.authorization.Decision) -> bool", &Allowed,
        "Is it allowed?", kExample),
    Row("reason", "decision_reason", "(kubernetes.authorization.Decision) -> string", &Reason,
        "Why, as the authorizer says.", kExample),
    Row("errored", "decision_errored", "(kubernetes.authorization.Decision) -> bool", &Errored,
        "Did the authorizer fail?", kExample),
    Row("error", "decision_error", "(kubernetes.authorization.Decision) -> string", &Error,
        "With which error; '' if it did not.", kExample),
};

}  // namespace

cel::Value MakeAuthorizer(json::Arena& arena, AccessChecker& checker, const api::UserInfo& user) {
  AccessQuestion question;
  question.user = &user;
  return Value::FromObject(cel::New<Access>(arena, kAuthorizerType, checker, std::move(question)));
}

cel::Value MakeResourceCheck(json::Arena& arena, AccessChecker& checker, AccessQuestion question) {
  return Value::FromObject(
      cel::New<Access>(arena, kResourceCheckType, checker, std::move(question)));
}

constinit const cel::Library kAuthorizerLibrary = {.name = "kubernetes.authorizer",
                                                   .functions = kFunctions};

}  // namespace portcullis::kube_cel
