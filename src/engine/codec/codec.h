// SPDX-License-Identifier: Apache-2.0

// Between bytes and objects: request bodies to canonical, defaulted values; values to stored bytes;
// stored bytes to values of the version a request speaks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "json/value.h"
#include "store/object.h"
#include "store/store.h"

namespace portcullis::engine {

// The body as the object of an endpoint that expects `kind`: syntax, apiVersion and kind, types and
// unknown fields are checked (warnings go to the call's recorder), defaults are filled in. Errors
// are those of kube-apiserver's decoder.
base::Result<json::Value> DecodeBody(Operation& op, const api::GroupVersionKind& kind,
                                     std::string_view body, MediaType type,
                                     FieldValidation validation);
// The same of the body of an operation, as the kind of its endpoint; op.request_object becomes the
// object.
base::Result<json::Value> DecodeInput(Operation& op, const Input& input);

// The text that an object was read from.
struct SentText {
  std::string_view yaml_error;  // what strict reading has against it
  std::string_view json;        // if it is JSON and not what Go would write of the object
};

// An object that is JSON already (the result of a patch) through the same checks, without texts
// around the error. It repeats no key; `strict_errors` are what strict decoding has reported so far
// (`duplicate field "a"`).
base::Result<json::Value> Canonical(Operation& op, const api::GroupVersionKind& kind,
                                    json::Value object, FieldValidation validation,
                                    const std::vector<std::string>& strict_errors,
                                    const SentText& text = {});

// Input that repeats keys without them: merged by the schema of the kind, or the last values if the
// kind has no Go type. `strict_errors` receives what strict decoding reports.
base::Result<json::Value> WithoutDuplicates(Operation& op, const api::GroupVersionKind& kind,
                                            json::Value input,
                                            std::vector<std::string>& strict_errors);

// As what an object of a built-in kind is read that is to be of the kind `expected`: what it says it
// is, in whatever version of its kind. Errors: it cannot be taken for one of `expected`.
base::Result<api::GroupVersionKind> ReadableKind(const Operation& op,
                                                 const api::GroupVersionKind& expected,
                                                 json::Value object);

// What strict reading has against YAML text: "" or an error of several lines, which become as many
// warnings.
std::string StrictYamlError(json::Arena& arena, std::string_view text);
void WarnOfYaml(Operation& op, std::string_view error);

// Defaults of the kind (also of custom resources, whose schemas may make the object too large).
base::Result<json::Value> ApplyDefaults(const World& world, const api::catalog::Catalog& catalog,
                                        json::Arena& arena, const api::GroupVersionKind& kind,
                                        json::Value object);

// Go's form of an object of a built-in kind once more: fields that Go always writes come back,
// empty ones go. Custom resources as they are. What `object` shares with `known`, an earlier state
// of it that had that form, is not looked at.
json::Value Recanonicalize(const api::catalog::Catalog& catalog, json::Arena& arena,
                           const api::GroupVersionKind& kind, json::Value object,
                           json::Value known = {});

// What becomes of an object of a built-in kind on its way through the store: lists that Go always
// writes come back as null if they are empty, but for definitions, and members stand in Go's order.
// What it shares with `known` (Operation::canonical) is not looked at.
json::Value AsStored(const api::catalog::Catalog& catalog, json::Arena& arena,
                     const api::GroupVersionKind& kind, json::Value object, json::Value known = {});

// A custom resource without the fields its schema does not know; other objects as they are.
json::Value PruneCustom(const api::catalog::Catalog& catalog, json::Arena& arena,
                        const api::GroupVersionKind& kind, json::Value object);

// The object with kind and apiVersion first and the members of metadata in Go's order.
json::Value Ordered(json::Arena& arena, json::Value object);

// The object of an operation as Kubernetes writes it: Ordered(), or with all members sorted by name
// if it is a custom resource (Go holds it as a map), but not what one of its subresources speaks.
bool IsCustom(const Operation& op);
json::Value AsWritten(Operation& op, json::Value object);

// What Go's server writes of an object of which no field is set: a new one is compared
// with it to see which fields its maker has set. Of a custom resource that is nothing.
json::Value EmptyObject(json::Arena& arena, const api::catalog::ResourceInfo& resource);

// An object of the resource in the version it is stored in, ready for the store. Custom resources
// are converted as their definition says, which may wait for a webhook. Refused with etcd's text if
// etcd would not take it (api/stored_size.h).
base::Result<store::Encoded> EncodeForStore(json::Arena& arena, json::Value object,
                                            const api::catalog::ResourceInfo& resource);

// An object in a version of the store, written as it is; `custom` if it is a custom resource.
store::Encoded EncodeAsIs(json::Arena& arena, json::Value object, bool custom);

// Stored objects of the resource as its version shows them. For custom resources that is: pruned
// and defaulted by the schema they were stored under, then converted, all in one call if a webhook
// does it. Objects that are as they should be come back themselves; others as new ones, with the
// same revision. Built-in kinds are converted when they are read or written (below).
base::Result<std::vector<store::ObjectPtr>> InVersion(const api::catalog::ResourceInfo& resource,
                                                      std::vector<store::ObjectPtr> objects);
// Whether InVersion() would wait for a webhook for one of them: then not on a thread that others
// wait for.
bool NeedsWebhook(const api::catalog::ResourceInfo& resource,
                  std::span<const store::ObjectPtr> objects);

// A stored object in the version of the resource; parsed into `arena`, which keeps it alive.
base::Result<json::Value> FromStore(json::Arena& arena, const store::ObjectPtr& object,
                                    const api::catalog::ResourceInfo& resource);

// What a client would see of an object of the resource after it was stored.
base::Result<json::Value> ThroughStore(json::Arena& arena, json::Value object,
                                       const api::catalog::ResourceInfo& resource);

// A stored object's bytes in the version of the resource: the bytes themselves if they are, else
// written into `scratch`.
base::Result<std::string_view> BytesAs(const store::ObjectPtr& object,
                                       const api::catalog::ResourceInfo& resource,
                                       std::string& scratch);

// The protobuf message of a stored object of a built-in resource, in the version of the resource:
// kept with the object if that is the version it is stored in, else written into `scratch`.
base::Result<std::string_view> ProtobufAs(const store::ObjectPtr& object,
                                          const api::catalog::ResourceInfo& resource,
                                          std::string& scratch);

// The same for a request: in its arena, of its resource. While a webhook converts, the request's
// place among those under way is free for others.
base::Result<store::Encoded> EncodeForStore(Operation& op, json::Value object);
base::Result<std::vector<store::ObjectPtr>> InVersion(Operation& op,
                                                      std::vector<store::ObjectPtr> objects);
base::Result<json::Value> FromStore(Operation& op, const store::ObjectPtr& object);
base::Result<json::Value> ThroughStore(Operation& op, json::Value object);
base::Result<std::string_view> BytesAs(Operation& op, const store::ObjectPtr& object,
                                       std::string& scratch);

// `{"kind":"Pod","apiVersion":"v1",`: how stored bytes of a built-in kind begin.
std::string KindPrefix(const api::GroupVersionKind& kind);

// The apiVersion of a group and version.
std::string ApiVersion(const api::GroupVersionKind& kind);

}  // namespace portcullis::engine
