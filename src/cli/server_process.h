// SPDX-License-Identifier: Apache-2.0

// The API server as a part of this process: what `serve` and `exec` have in common, from the words
// of the command line to a server that is ready.
#pragma once

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "server/api_server.h"
#include "server/options.h"

namespace portcullis::cli {

// Reads the flags of the server into `options`, whose values are the defaults, and the variables
// of the environment that it heeds. Returns the exit code where the command is at its end: help was
// printed, or what is wrong with the flags.
std::optional<int> ReadServerFlags(const Command& command,
                                   const std::vector<std::string>& arguments,
                                   server::Options& options);

// Tells the log which flags have no effect and which ones open doors.
void LogChoices(const server::Options& options);

// Confines the process (cli/confinement.h), starts the server, and writes --ready-file. Errors are
// the operator's: what is wrong, and what to do where that is known. Before any thread is started.
base::Result<std::unique_ptr<server::ApiServer>> StartServer(const server::Options& options);

// Removes --ready-file, if there is one: the server is no longer ready.
void RemoveReadyFile(const server::Options& options);

// Blocks these signals in this thread and in all that it starts, which do not see them then; they
// are waited for with sigwaitinfo(). Returns them; `before` gets the mask as it was.
sigset_t BlockSignals(std::initializer_list<int> signals, sigset_t* before = nullptr);
// Waits for that long, or until one of the signals comes: returns which, 0 if none did.
int WaitForSignal(const sigset_t& signals, std::chrono::nanoseconds duration);

}  // namespace portcullis::cli
