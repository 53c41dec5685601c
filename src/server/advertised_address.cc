// SPDX-License-Identifier: Apache-2.0

#include "server/advertised_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::server {
namespace {

// The IPv4 address of the interface of the default route.
std::string MachineAddress() {
  const auto routes = base::ReadFile("/proc/net/route");
  if (!routes.ok()) return "";
  for (std::string_view line : base::Split(*routes, '\n')) {
    const auto columns = base::Split(line, '\t');
    if (columns.size() < 8 || columns[1] != "00000000" || columns[7] != "00000000") continue;
    ifreq request{};
    if (columns[0].size() >= sizeof(request.ifr_name)) continue;
    columns[0].copy(request.ifr_name, columns[0].size());
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return "";
    const bool found = ioctl(fd, SIOCGIFADDR, &request) == 0;
    close(fd);
    if (!found) continue;
    sockaddr_in address{};
    std::memcpy(&address, &request.ifr_addr, sizeof(address));
    char text[INET_ADDRSTRLEN] = {};
    if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)) != nullptr) return text;
  }
  return "";
}

}  // namespace

std::string AdvertisedAddress(const Options& options) {
  const auto named = golang::ParseIp(options.advertise_address);
  if (named && !named->IsUnspecified()) return named->Unmap().ToString();
  const auto bound = golang::ParseIp(options.bind_address);
  if (!bound || bound->IsLoopback()) return "";
  return bound->IsUnspecified() ? MachineAddress() : bound->Unmap().ToString();
}

}  // namespace portcullis::server
