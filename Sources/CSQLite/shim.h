// A setting of SQLite that takes variable arguments, which Swift cannot pass.

#pragma once
#include <sqlite3.h>

// SQLITE_CONFIG_MEMSTATUS: SQLite counts what it has allocated, under a lock of the whole process, at each allocation.
// It is to be called before SQLite is used; later it changes nothing and gives SQLITE_MISUSE.
static inline int dlm_sqlite_counts_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
