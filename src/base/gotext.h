// SPDX-License-Identifier: Apache-2.0

// Text as Go prints it, because Kubernetes' messages are made by Go's fmt and strconv packages
// (https://pkg.go.dev/strconv#Quote, https://pkg.go.dev/fmt).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace portcullis::base {

// strconv.Quote, the verb %q: double quotes, \n \t \" \\ \x00 \u00a0 …; invalid UTF-8 as \xff.
std::string GoQuote(std::string_view text);
// A JSON string with its quotes; invalid UTF-8 becomes U+FFFD.
std::string JsonQuote(std::string_view text);
// fmt's %v and %q of a []string: "[a b]" and `["a" "b"]`.
std::string GoList(std::span<const std::string> list);
std::string GoQuotedList(std::span<const std::string> list);

// Decodes one UTF-8 sequence at the start of `text` (not empty). Returns the code point and sets
// `size`; an invalid byte gives U+FFFD with size 1, as utf8.DecodeRuneInString.
char32_t DecodeRune(std::string_view text, std::size_t& size);
void AppendRune(char32_t rune, std::string& out);
bool IsValidUtf8(std::string_view text);
std::size_t RuneCount(std::string_view text);
// strconv.IsPrint.
bool IsPrintable(char32_t rune);

}  // namespace portcullis::base
