// SPDX-License-Identifier: Apache-2.0

// The address at which other machines reach this server: that of --advertise-address; else the one it
// listens on; if that is every address, the one of the interface that the default route leaves by, as
// kube-apiserver chooses it. Stateless.
#pragma once

#include <string>

#include "server/options.h"

namespace portcullis::server {

// "": there is none. The loopback, which kube-apiserver replaces by the machine's address although the
// server does not listen there, counts only if --advertise-address names it.
std::string AdvertisedAddress(const Options& options);

}  // namespace portcullis::server
