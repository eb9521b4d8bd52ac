// Calls of Linux that Swift's Glibc module does not export.

#pragma once
// Few headers: Swift takes a type for one of this module where a header that declares it is included here, and then
// each file that uses the type would have to import this module.
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// copy_file_range(2), which glibc declares for _GNU_SOURCE only: up to `length` bytes from `from` to `to`, at `offset` in both.
static inline ssize_t dlm_copy_file_range(int from, int to, long long offset, size_t length) {
  long long in = offset, out = offset;
  return (ssize_t)syscall(SYS_copy_file_range, from, &in, to, &out, length, 0u);
}

// ioprio_set(2), which glibc does not have: the idle class for one thread. 0, or -1 with errno.
static inline int dlm_set_idle_io(int thread) {
  const int whoIsThread = 1, idleClass = 3, classShift = 13;
  return (int)syscall(SYS_ioprio_set, whoIsThread, thread, idleClass << classShift);
}

// ppoll(2) without signals, for a wait that is more exact than poll's milliseconds. How many are ready, or -1 with errno.
static inline int dlm_poll(void *polled, unsigned long count, long seconds, long nanoseconds) {
  long timeout[2] = {seconds, nanoseconds};
  return (int)syscall(SYS_ppoll, polled, count, timeout, (void *)0, 8);
}
