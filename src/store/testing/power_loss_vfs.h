// SPDX-License-Identifier: Apache-2.0

// PowerLossVfs is a SQLite VFS that writes through to the default one and remembers every write,
// truncation and sync, so that a test can ask what a disk might hold if the power had failed at any
// moment: what was synced is there; each later write is there, or not, or in part, whatever came
// before and after it. Confined to one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace portcullis::store::testing {

class PowerLossVfs {
 public:
  struct Operation {
    enum class Kind : std::uint8_t { kWrite, kTruncate, kSync, kDelete };
    Kind kind = Kind::kWrite;
    std::string path;
    std::int64_t offset = 0;  // or the new size
    std::string bytes;
  };

  // Becomes SQLite's default VFS until destroyed; one at a time.
  PowerLossVfs() : below_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *below_;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + below_->szOsFile;
    vfs_.zName = "power-loss";
    vfs_.pAppData = this;
    vfs_.xOpen = &Open;
    vfs_.xDelete = &Delete;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~PowerLossVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(below_, 1);
  }
  PowerLossVfs(const PowerLossVfs&) = delete;
  PowerLossVfs& operator=(const PowerLossVfs&) = delete;

  // How many operations there have been: a moment in time.
  std::size_t now() const { return operations_.size(); }

  // Takes the files as they are now for durable: the recording starts here.
  void Begin(const std::vector<std::string>& paths) {
    operations_.clear();
    start_.clear();
    for (const std::string& path : paths) {
      std::ifstream file(path, std::ios::binary);
      start_[path] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  }

  // What the disk may hold if the power fails at that moment, by path. Unsynced writes are kept,
  // dropped or torn at a sector as `random` has it.
  std::map<std::string, std::string> DiskAt(std::size_t moment, std::mt19937& random) const {
    std::map<std::string, std::size_t> synced;
    for (std::size_t i = 0; i < moment; ++i) {
      if (operations_[i].kind == Operation::Kind::kSync) synced[operations_[i].path] = i;
    }
    auto disk = start_;
    // A disk may be lucky or unlucky as a whole; single writes then differ.
    const unsigned luck = random() % 4;
    for (std::size_t i = 0; i < moment; ++i) {
      const Operation& operation = operations_[i];
      const auto sync = synced.find(operation.path);
      const bool durable = sync != synced.end() && i < sync->second;
      if (durable || random() % 4 < luck) {
        Apply(operation, operation.bytes.size(), disk);
      } else if (random() % 2 == 0 && operation.kind == Operation::Kind::kWrite) {
        constexpr std::size_t kSector = 512;
        const std::size_t sectors = operation.bytes.size() / kSector;
        Apply(operation, sectors == 0 ? 0 : random() % (sectors + 1) * kSector, disk);
      }
    }
    return disk;
  }

 private:
  struct File : sqlite3_file {
    PowerLossVfs* owner;
    sqlite3_io_methods methods;
    std::string* path;  // null for temporary files
    sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };

  static File& Of(sqlite3_file* file) { return *static_cast<File*>(file); }

  static void Apply(const Operation& operation, std::size_t size,
                    std::map<std::string, std::string>& disk) {
    const auto at = static_cast<std::size_t>(operation.offset);
    std::string& content = disk[operation.path];
    switch (operation.kind) {
      case Operation::Kind::kWrite:
        if (size == 0) return;
        if (content.size() < at + size) content.resize(at + size);
        content.replace(at, size, operation.bytes, 0, size);
        return;
      case Operation::Kind::kTruncate:
        content.resize(at);
        return;
      case Operation::Kind::kDelete:
        disk.erase(operation.path);
        return;
      case Operation::Kind::kSync:
        return;
    }
  }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    auto* self = static_cast<PowerLossVfs*>(vfs->pAppData);
    File& made = Of(file);
    made.pMethods = nullptr;
    const int code = self->below_->xOpen(self->below_, name, made.below(), flags, out);
    if (code != SQLITE_OK) return code;
    made.owner = self;
    made.path = name != nullptr ? new std::string(name) : nullptr;
    made.methods = *made.below()->pMethods;
    made.methods.iVersion = 1;  // no shared memory, no mapped pages
    made.methods.xClose = &Close;
    made.methods.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
      return Of(f).below()->pMethods->xRead(Of(f).below(), to, size, at);
    };
    made.methods.xWrite = &Write;
    made.methods.xTruncate = &Truncate;
    made.methods.xSync = &Sync;
    made.methods.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
      return Of(f).below()->pMethods->xFileSize(Of(f).below(), size);
    };
    made.methods.xLock = [](sqlite3_file* f, int level) {
      return Of(f).below()->pMethods->xLock(Of(f).below(), level);
    };
    made.methods.xUnlock = [](sqlite3_file* f, int level) {
      return Of(f).below()->pMethods->xUnlock(Of(f).below(), level);
    };
    made.methods.xCheckReservedLock = [](sqlite3_file* f, int* result) {
      return Of(f).below()->pMethods->xCheckReservedLock(Of(f).below(), result);
    };
    made.methods.xFileControl = [](sqlite3_file* f, int operation, void* argument) {
      return Of(f).below()->pMethods->xFileControl(Of(f).below(), operation, argument);
    };
    // The least a disk can promise: nothing about order, atomic writes or tails.
    made.methods.xSectorSize = [](sqlite3_file*) { return 512; };
    made.methods.xDeviceCharacteristics = [](sqlite3_file*) { return 0; };
    made.pMethods = &made.methods;
    return SQLITE_OK;
  }

  static int Close(sqlite3_file* file) {
    File& closed = Of(file);
    delete closed.path;
    return closed.below()->pMethods->xClose(closed.below());
  }
  static int Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
    Note(Of(file), {Operation::Kind::kWrite,
                    {},
                    at,
                    std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))});
    return Of(file).below()->pMethods->xWrite(Of(file).below(), bytes, size, at);
  }
  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    Note(Of(file), {Operation::Kind::kTruncate, {}, size, {}});
    return Of(file).below()->pMethods->xTruncate(Of(file).below(), size);
  }
  static int Sync(sqlite3_file* file, int flags) {
    const int code = Of(file).below()->pMethods->xSync(Of(file).below(), flags);
    Note(Of(file), {Operation::Kind::kSync, {}, 0, {}});
    return code;
  }
  static int Delete(sqlite3_vfs* vfs, const char* name, int sync) {
    auto* self = static_cast<PowerLossVfs*>(vfs->pAppData);
    self->operations_.push_back({Operation::Kind::kDelete, name, 0, {}});
    return self->below_->xDelete(self->below_, name, sync);
  }
  static void Note(File& file, Operation operation) {
    if (file.path == nullptr) return;
    operation.path = *file.path;
    file.owner->operations_.push_back(std::move(operation));
  }

  sqlite3_vfs* const below_;
  sqlite3_vfs vfs_{};
  std::vector<Operation> operations_;
  std::map<std::string, std::string> start_;
};

}  // namespace portcullis::store::testing
