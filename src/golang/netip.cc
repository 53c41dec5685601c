// SPDX-License-Identifier: Apache-2.0

#include "golang/netip.h"

#include <algorithm>
#include <cstdio>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::golang {
namespace {

// A failure with the place that Go names, if it names one.
struct Problem {
  std::string_view text;
  std::string_view at;
};

// kSloppy: k8s.io/utils/net, which keeps what Go took before 1.17: leading zeros.
enum class Rules { kStrict, kSloppy };

class Reader {
 public:
  explicit Reader(std::string_view input, Rules rules = Rules::kStrict)
      : input_(input), rules_(rules) {}

  base::Result<IpAddress> Read() {
    IpAddress ip;
    Problem problem = {"unable to parse IP", ""};
    for (const char c : input_) {
      if (c == '.') {
        problem = ReadV4(input_, ip.bytes.data());
        break;
      }
      if (c == ':') {
        ip.is_v6 = true;
        problem = ReadV6(ip);
        break;
      }
      if (c == '%') {
        problem.text = "missing IPv6 address";
        break;
      }
    }
    if (problem.text.empty()) return ip;
    std::string message = base::StrCat("ParseAddr(", base::GoQuote(input_), "): ", problem.text);
    if (!problem.at.empty()) message += base::StrCat(" (at ", base::GoQuote(problem.at), ")");
    return base::BadRequest(std::move(message));
  }

 private:
  Problem ReadV4(std::string_view text, std::uint8_t* out) const {
    int value = 0;
    int digits = 0;
    int field = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c >= '0' && c <= '9') {
        if (digits == 1 && value == 0 && rules_ == Rules::kStrict) {
          return {"IPv4 field has octet with leading zero", ""};
        }
        value = value * 10 + (c - '0');
        ++digits;
        if (value > 255) return {"IPv4 field has value >255", ""};
      } else if (c == '.') {
        if (i == 0 || i + 1 == text.size() || text[i - 1] == '.') {
          return {"IPv4 field must have at least one digit", text.substr(i)};
        }
        if (field == 3) return {"IPv4 address too long", ""};
        out[field++] = static_cast<std::uint8_t>(value);
        value = 0;
        digits = 0;
      } else {
        return {"unexpected character", text.substr(i)};
      }
    }
    if (field < 3) return {"IPv4 address too short", ""};
    out[3] = static_cast<std::uint8_t>(value);
    return {};
  }

  // One group of hexadecimal digits; `size` is how many there are.
  Problem ReadGroup(std::string_view text, unsigned& value, std::size_t& size) const {
    value = 0;
    for (size = 0; size < text.size(); ++size) {
      const char c = text[size];
      unsigned digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<unsigned>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<unsigned>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<unsigned>(c - 'A') + 10;
      } else {
        break;
      }
      if (size > 3 && rules_ == Rules::kStrict) {
        return {"each group must have 4 or less digits", text};
      }
      value = value * 16 + digit;
      if (value > 0xffff) return {"group does not fit into 16 bits", text};
    }
    if (size == 0) return {"each colon-separated field must have at least one digit", text};
    return {};
  }

  Problem ReadV6(IpAddress& ip) const {
    std::string_view rest = input_;
    if (const auto percent = rest.find('%'); percent != std::string_view::npos) {
      ip.zone = rest.substr(percent + 1);
      rest = rest.substr(0, percent);
      if (ip.zone.empty()) return {"zone must be a non-empty string", ""};
    }
    constexpr std::size_t kNone = 99;
    std::size_t ellipsis = kNone;
    if (rest.starts_with("::")) {
      ellipsis = 0;
      rest.remove_prefix(2);
      if (rest.empty()) return {};
    }
    std::size_t filled = 0;
    while (filled < 16) {
      unsigned value = 0;
      std::size_t size = 0;
      if (const Problem problem = ReadGroup(rest, value, size); !problem.text.empty()) {
        return problem;
      }
      if (size < rest.size() && rest[size] == '.') {
        if (ellipsis == kNone && filled != 12) {
          return {"embedded IPv4 address must replace the final 2 fields of the address", rest};
        }
        if (filled + 4 > 16) {
          return {"too many hex fields to fit an embedded IPv4 at the end of the address", rest};
        }
        if (const Problem problem = ReadV4(rest, &ip.bytes[filled]); !problem.text.empty()) {
          return problem;
        }
        rest = {};
        filled += 4;
        break;
      }
      ip.bytes[filled++] = static_cast<std::uint8_t>(value >> 8);
      ip.bytes[filled++] = static_cast<std::uint8_t>(value);
      rest.remove_prefix(size);
      if (rest.empty()) break;
      if (rest[0] != ':') return {"unexpected character, want colon", rest};
      if (rest.size() == 1) return {"colon must be followed by more characters", rest};
      rest.remove_prefix(1);
      if (rest[0] == ':') {
        if (ellipsis != kNone) return {"multiple :: in address", rest};
        ellipsis = filled;
        rest.remove_prefix(1);
        if (rest.empty()) break;
      }
    }
    if (!rest.empty()) return {"trailing garbage after address", rest};
    if (filled < 16) {
      if (ellipsis == kNone) return {"address string too short", ""};
      // What stands behind the ellipsis goes to the end.
      std::rotate(ip.bytes.begin() + static_cast<std::ptrdiff_t>(ellipsis),
                  ip.bytes.begin() + static_cast<std::ptrdiff_t>(filled), ip.bytes.end());
      return {};
    }
    if (ellipsis != kNone) {
      return {"the :: must expand to at least one field of zeros", ""};
    }
    return {};
  }

  const std::string_view input_;
  const Rules rules_;
};

unsigned Group(const IpAddress& ip, std::size_t index) {
  return static_cast<unsigned>(ip.bytes[index * 2]) << 8 | ip.bytes[index * 2 + 1];
}

std::string HexGroup(unsigned value) {
  char text[8];
  std::snprintf(text, sizeof(text), "%x", value);
  return text;
}

}  // namespace

base::Result<IpAddress> ParseIpAddress(std::string_view text) { return Reader(text).Read(); }

std::optional<IpAddress> ParseIp(std::string_view text) {
  auto address = ParseIpAddress(text);
  if (!address.ok() || !address->zone.empty()) return std::nullopt;
  return *std::move(address);
}

std::optional<IpAddress> ParseIpSloppy(std::string_view text) {
  auto address = Reader(text, Rules::kSloppy).Read();
  if (!address.ok() || !address->zone.empty()) return std::nullopt;
  return *std::move(address);
}

bool IpAddress::IsMapped() const {
  if (!is_v6) return false;
  for (std::size_t i = 0; i < 10; ++i) {
    if (bytes[i] != 0) return false;
  }
  return bytes[10] == 0xff && bytes[11] == 0xff;
}

IpAddress IpAddress::Unmap() const {
  if (!IsMapped()) return *this;
  IpAddress inner;
  std::copy(bytes.begin() + 12, bytes.end(), inner.bytes.begin());
  return inner;
}

bool IpAddress::IsUnspecified() const {
  return zone.empty() &&
         std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::IsLoopback() const {
  if (!is_v6) return bytes[0] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.begin() + 15,
                                       [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::IsMulticast() const { return is_v6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 0xe0; }

bool IpAddress::IsLinkLocalMulticast() const {
  if (is_v6) return bytes[0] == 0xff && (bytes[1] & 0x0f) == 0x02;
  return bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0;
}

bool IpAddress::IsLinkLocalUnicast() const {
  if (is_v6) return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  return bytes[0] == 169 && bytes[1] == 254;
}

bool IpAddress::IsGlobalUnicast() const {
  const bool broadcast =
      !is_v6 && bytes[0] == 255 && bytes[1] == 255 && bytes[2] == 255 && bytes[3] == 255;
  return !broadcast && !IsUnspecified() && !IsLoopback() && !IsMulticast() && !IsLinkLocalUnicast();
}

std::string IpAddress::ToString() const {
  if (!is_v6) {
    char text[16];
    std::snprintf(text, sizeof(text), "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
    return text;
  }
  if (IsMapped()) {
    return base::StrCat("::ffff:", Unmap().ToString(), zone.empty() ? "" : "%", zone);
  }
  // The longest run of at least two zero groups is left out, the first of equal ones.
  std::size_t best = 8;
  std::size_t best_size = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t size = 0;
    while (i + size < 8 && Group(*this, i + size) == 0) ++size;
    if (size > best_size) {
      best = i;
      best_size = size;
    }
    if (size > 0) i += size - 1;
  }
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_size - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += HexGroup(Group(*this, i));
  }
  if (!zone.empty()) out += "%" + zone;
  return out;
}

IpPrefix IpPrefix::Masked() const {
  IpPrefix out = *this;
  for (int bit = length; bit < address.bits(); ++bit) {
    auto& byte = out.address.bytes[static_cast<std::size_t>(bit / 8)];
    byte = static_cast<std::uint8_t>(byte & ~(0x80 >> (bit % 8)));
  }
  return out;
}

bool IpPrefix::Contains(const IpAddress& ip) const {
  if (ip.is_v6 != address.is_v6) return false;
  IpPrefix other{ip, length};
  return other.Masked().address == Masked().address;
}

bool IpPrefix::Contains(const IpPrefix& other) const {
  return length <= other.length && Contains(other.address);
}

std::string IpPrefix::ToString() const {
  return base::StrCat(address.ToString(), "/", std::to_string(length));
}

base::Result<IpPrefix> ParseIpPrefix(std::string_view text) {
  const auto failure = [&](std::string_view why) {
    return base::BadRequest(base::StrCat("netip.ParsePrefix(", base::GoQuote(text), "): ", why));
  };
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos) return failure("no '/'");
  auto ip = ParseIpAddress(text.substr(0, slash));
  if (!ip.ok()) return failure(ip.status().message());
  if (!ip->zone.empty()) return failure("IPv6 zones cannot be present in a prefix");
  const std::string_view digits = text.substr(slash + 1);
  const auto length = base::ParseInt(digits);
  const bool odd = digits.size() > 1 && (digits[0] < '1' || digits[0] > '9');
  if (!length || odd) {
    return failure(base::StrCat("bad bits after slash: ", base::GoQuote(digits)));
  }
  if (*length < 0 || *length > ip->bits()) return failure("prefix length out of range");
  return IpPrefix{*std::move(ip), static_cast<int>(*length)};
}

std::optional<IpPrefix> ParsePrefixSloppy(std::string_view text) {
  constexpr std::int64_t kTooBig = 0xffffff;
  const auto parts = base::Cut(text, "/");
  if (!parts) return std::nullopt;
  auto address = ParseIpSloppy(parts->first);
  const std::string_view digits = parts->second;
  if (!address || digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) {
    return std::nullopt;
  }
  const auto length = base::ParseInt(digits);
  if (!length || *length >= kTooBig || *length > address->bits()) return std::nullopt;
  return IpPrefix{*std::move(address), static_cast<int>(*length)};
}

std::string JoinHostPort(std::string_view host, std::string_view port) {
  if (host.find(':') != std::string_view::npos) return base::StrCat("[", host, "]:", port);
  return base::StrCat(host, ":", port);
}

base::Result<std::pair<std::string, std::string>> SplitHostPort(std::string_view address) {
  const auto fail = [&](std::string_view reason) {
    if (address.empty()) return base::BadRequest(std::string(reason));
    return base::BadRequest(base::StrCat("address ", address, ": ", reason));
  };
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return fail("missing port in address");
  std::string_view host = address.substr(0, colon);
  std::size_t host_end = 0;  // where no bracket may stand any more
  if (address.starts_with('[')) {
    const auto end = address.find(']');
    if (end == std::string_view::npos) return fail("missing ']' in address");
    if (end + 1 == address.size()) return fail("missing port in address");
    if (end + 1 != colon) {
      return fail(address[end + 1] == ':' ? "too many colons in address"
                                          : "missing port in address");
    }
    host = address.substr(1, end - 1);
    host_end = end + 1;
    if (address.find('[', 1) != std::string_view::npos) return fail("unexpected '[' in address");
  } else {
    if (host.find(':') != std::string_view::npos) return fail("too many colons in address");
    if (address.find('[') != std::string_view::npos) return fail("unexpected '[' in address");
  }
  if (address.find(']', host_end) != std::string_view::npos) {
    return fail("unexpected ']' in address");
  }
  return std::pair{std::string(host), std::string(address.substr(colon + 1))};
}

}  // namespace portcullis::golang
