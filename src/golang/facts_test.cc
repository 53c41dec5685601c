// SPDX-License-Identifier: Apache-2.0

// Every answer that was recorded from Go (testdata/).
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "golang/strconv.h"
#include "golang/time.h"
#include "golang/url.h"

namespace portcullis::golang {
namespace {

using Fields = std::vector<std::string>;

std::string Plain(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
    } else if (text[++i] == 'x') {
      out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// The fields of each line of a file.
std::vector<Fields> Rows(const std::string& name) {
  const auto text = base::ReadFile(PC_SOURCE_DIR "/src/golang/testdata/" + name);
  std::vector<Fields> rows;
  for (const std::string_view line : base::Split(text.value(), '\n')) {
    if (line.empty()) continue;
    Fields& fields = rows.emplace_back();
    for (const std::string_view field : base::Split(line, '\t')) fields.push_back(Plain(field));
  }
  EXPECT_GT(rows.size(), 5U) << name;
  return rows;
}

template <typename Value>
std::string TextOr(const base::Result<Value>& result,
                   const std::function<std::string(const Value&)>& text) {
  return result.ok() ? text(*result) : "E " + result.status().message();
}

std::string Number(std::int64_t value) { return std::to_string(value); }

Fields FieldsOf(const Url& url) {
  const std::string parts[] = {
      url.scheme,    url.opaque,   url.user ? "@" + url.user->ToString() : "",
      url.host,      url.path,     url.raw_path,
      url.raw_query, url.fragment, url.raw_fragment};
  return {url.ToString(),
          base::Join(parts, "\x01"),
          base::StrCat(url.force_query ? "true" : "false", url.omit_host ? " true" : " false"),
          url.EscapedPath(),
          std::string(url.Hostname()),
          std::string(url.Port())};
}

TEST(GoFactsTest, Urls) {
  std::string input;
  for (const Fields& row : Rows("urls.txt")) {
    const bool is_request = row[0] == "  request";
    if (!is_request) input = row[0];
    const auto url = is_request ? ParseRequestUri(input) : ParseUrl(input);
    const Fields expected(row.begin() + 1, row.end());
    if (!url.ok()) {
      EXPECT_EQ((Fields{"E", url.status().message()}), expected) << input;
    } else if (is_request) {
      EXPECT_EQ(Fields{url->ToString()}, expected) << input;
    } else {
      EXPECT_EQ(FieldsOf(*url), expected) << input;
    }
  }
}

TEST(GoFactsTest, References) {
  for (const Fields& row : Rows("references.txt")) {
    EXPECT_EQ(ResolveReference(*ParseUrl(row[0]), *ParseUrl(row[1])).ToString(), row[2])
        << row[0] << " " << row[1];
  }
}

TEST(GoFactsTest, Escapes) {
  const auto same = [](const std::string& text) { return text; };
  for (const Fields& row : Rows("escapes.txt")) {
    EXPECT_EQ(QueryEscape(row[0]), row[1]);
    EXPECT_EQ(PathEscape(row[0]), row[2]);
    EXPECT_EQ(EscapePath(row[0]), row[3]);
    EXPECT_EQ(TextOr<std::string>(QueryUnescape(row[0]), same), row[4]);
    EXPECT_EQ(TextOr<std::string>(PathUnescape(row[0]), same), row[5]);
  }
}

TEST(GoFactsTest, Times) {
  for (const Fields& row : Rows("times.txt")) {
    int offset = 0;
    const auto text = [&offset](const Moment& moment) {
      return base::StrCat(Number(moment.seconds), " ", Number(moment.nanos), " ", Number(offset));
    };
    EXPECT_EQ(TextOr<Moment>(ParseTime(row[0], &offset), text), row[1]) << row[0];
    const auto micro = ParseMicroTime(row[0]);
    if (!micro.ok()) {
      EXPECT_EQ("E " + micro.status().message(), row[2]);
    } else {
      EXPECT_EQ(text(*micro), row[2]) << row[0];
    }
  }
}

TEST(GoFactsTest, TimeFormats) {
  for (const Fields& row : Rows("formats.txt")) {
    const Moment moment{std::stoll(row[0]), std::stoi(row[1])};
    EXPECT_EQ(FormatTime(moment), row[2]);
    EXPECT_EQ(FormatMicroTime(moment), row[3]);
    EXPECT_EQ(FormatTimeNano(moment), row[4]);
    EXPECT_EQ(FormatTimeNano(moment, -90), row[5]);
    const CivilTime civil = ToCivil(moment.seconds);
    EXPECT_EQ(base::StrCat(Number(civil.weekday), " ", Number(civil.yearday)), row[6]);
    EXPECT_EQ(FromCivil(civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second),
              moment.seconds);
  }
}

TEST(GoFactsTest, Durations) {
  for (const Fields& row : Rows("durations.txt")) {
    const auto duration = ParseDuration(row[0]);
    EXPECT_EQ(TextOr<std::int64_t>(duration, Number), row[1]) << row[0];
    if (!duration.ok()) continue;
    EXPECT_EQ(base::FormatDuration(base::Duration(*duration)), row[2]);
  }
}

std::string IpText(const std::optional<IpAddress>& address) {
  return address ? address->Unmap().ToString() : "nil";
}

TEST(GoFactsTest, Addresses) {
  const auto text = [](const IpAddress& address) { return address.ToString(); };
  for (const Fields& row : Rows("addresses.txt")) {
    EXPECT_EQ(TextOr<IpAddress>(ParseIpAddress(row[0]), text), row[1]) << row[0];
    EXPECT_EQ(IpText(ParseIp(row[0])), row[2]) << row[0];
    EXPECT_EQ(IpText(ParseIpSloppy(row[0])), row[3]) << row[0];
  }
}

TEST(GoFactsTest, Prefixes) {
  const auto text = [](const IpPrefix& prefix) {
    return base::StrCat(prefix.ToString(), " ", prefix.Masked().ToString());
  };
  for (const Fields& row : Rows("prefixes.txt")) {
    EXPECT_EQ(TextOr<IpPrefix>(ParseIpPrefix(row[0]), text), row[1]) << row[0];
    const auto sloppy = ParsePrefixSloppy(row[0]);
    EXPECT_EQ(sloppy.has_value(), row[2] != "nil") << row[0];
    if (sloppy && !sloppy->address.IsMapped()) {
      EXPECT_EQ(base::StrCat(sloppy->address.ToString(), " ", sloppy->Masked().ToString()), row[2]);
    }
  }
}

TEST(GoFactsTest, HostsAndPorts) {
  for (const Fields& row : Rows("hostports.txt")) {
    const auto parts = SplitHostPort(row[0]);
    if (!parts.ok()) {
      EXPECT_EQ("E " + parts.status().message(), row[1]);
      continue;
    }
    EXPECT_EQ((Fields{parts->first, parts->second, JoinHostPort(parts->first, parts->second)}),
              Fields(row.begin() + 1, row.end()));
  }
}

TEST(GoFactsTest, Numbers) {
  const auto unsigned_text = [](const std::uint64_t& value) { return std::to_string(value); };
  for (const Fields& row : Rows("numbers.txt")) {
    const std::string& text = row[0];
    EXPECT_EQ(TextOr<std::int64_t>(ParseInt(text), Number), row[1]);
    EXPECT_EQ(TextOr<std::int64_t>(ParseInt(text, 0), Number), row[2]);
    EXPECT_EQ(TextOr<std::int64_t>(ParseInt(text, 0, 32), Number), row[3]);
    EXPECT_EQ(TextOr<std::uint64_t>(ParseUint(text), unsigned_text), row[4]);
    EXPECT_EQ(TextOr<std::uint64_t>(ParseUint(text, 10, 16), unsigned_text), row[5]);
    EXPECT_EQ(TextOr<std::int64_t>(Atoi(text), Number), row[6]);
  }
}

TEST(GoFactsTest, Floats) {
  for (const Fields& row : Rows("floats.txt")) {
    const auto value = std::bit_cast<double>(static_cast<std::uint64_t>(std::stoull(row[0])));
    EXPECT_EQ(FormatFloat(value), row[1]);
    EXPECT_EQ(row[2], row[1]);  // fmt's %v
  }
}

TEST(StrconvTest, TruthValuesAreThoseOfGo) {
  EXPECT_TRUE(*ParseBool("T"));
  EXPECT_FALSE(*ParseBool("False"));
  EXPECT_EQ(ParseBool("yes").status().message(),
            "strconv.ParseBool: parsing \"yes\": invalid syntax");
}

}  // namespace
}  // namespace portcullis::golang
