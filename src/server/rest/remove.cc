// SPDX-License-Identifier: Apache-2.0

// DELETE of a collection.

#include "api/api_status.h"
#include "api/field_error.h"
#include "engine/codec/codec.h"
#include "engine/verbs.h"
#include "server/rest/present.h"
#include "server/rest/verbs.h"
#include "server/rest_options.h"

namespace portcullis::server::rest {

VerbResult DeleteCollection(Call& call) {
  const engine::ListOptions list = TRY(ReadListOptions(call, false));
  // What cannot be selected is told before what is wrong with the options of the deletion.
  TRY(engine::ReadSelection(call, list));
  const engine::DeleteOptions options = TRY(ReadDeleteOptions(call));
  if (options.ignores_read_errors) {
    const api::FieldErrors errors = {
        api::Invalid(api::FieldPath(engine::kIgnoresReadErrors), true,
                     "is not allowed with DELETECOLLECTION, try again after removing the option")};
    return api::InvalidStatus({"meta.k8s.io", "DeleteOptions"}, "", errors);
  }
  call.dry_run = options.dry_run;
  engine::Listing listing = TRY(engine::DeleteCollection(call, list, options));
  return ListReply(call, std::move(listing.objects), listing.meta);
}

}  // namespace portcullis::server::rest
