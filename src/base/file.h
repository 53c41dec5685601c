// SPDX-License-Identifier: Apache-2.0

// Files read and written whole: the only reader of the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::base {

inline constexpr std::size_t kMaxFileSize = std::size_t{256} << 20;

// The content of a file. A link is followed; a pipe is read to its end. Errors are Go's of
// os.ReadFile: `open /x: no such file or directory`, `read /x: is a directory`; a file of more than
// `limit` bytes is ours: `read /x: there are more than 1048576 bytes`.
Result<std::string> ReadFile(const std::string& path, std::size_t limit = kMaxFileSize);
// The same of standard input: `read standard input: …`.
Result<std::string> ReadStandardInput(std::size_t limit = kMaxFileSize);

// Whether a file that was written must outlive a power cut. kNone is for what is made anew at each
// start: waiting for the disk would cost more than the start.
enum class Durability { kPowerCut, kNone };

// Writes a file that its owner alone can read: beside it, then renamed, so that a crash or (with
// kPowerCut) a power cut leaves the old content or the new. A device or a pipe is written to as it
// is. Errors: `open /x: permission denied`.
Status WriteFile(const std::string& path, std::string_view content,
                 Durability durability = Durability::kPowerCut);
// The same for what others may read as far as the umask lets them: reports, files for an editor.
Status WriteSharedFile(const std::string& path, std::string_view content);

// The folder that relative paths inside of the file `path` start from: "." for a bare name.
std::string FolderOf(const std::string& path);
// `path` itself if it is absolute or empty, else below `folder`.
std::string ResolvePath(const std::string& folder, const std::string& path);

// What errno says, in Go's lower case: "no such file or directory".
std::string ErrnoText(int error);

}  // namespace portcullis::base
