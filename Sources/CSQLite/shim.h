// SQLite, and what Swift cannot call of it.

#pragma once
#include <sqlite3.h>

// SQLITE_CONFIG_MEMSTATUS, which takes variable arguments: SQLite counts what it has allocated, under a lock of the
// whole process, at each allocation. It is to be called before SQLite is used; later it changes nothing and gives
// SQLITE_MISUSE.
static inline int dlm_sqlite_counts_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// SQLITE_TRANSIENT, a pointer that is no function: SQLite copies the text.
static inline int dlm_sqlite_bind_copy(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}
