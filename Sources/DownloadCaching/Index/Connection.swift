import CSQLite

/// A connection to an SQLite database, and its prepared statements. For one thread at a time.
final class Connection {
  struct Failure: Error, CustomStringConvertible {
    /// SQLite's primary result code.
    var code: CInt
    var message: String

    var description: String { "SQLite error \(code): \(message)" }

    static let damaged = SQLITE_CORRUPT
    static let unusable = SQLITE_CANTOPEN

    var isBusy: Bool { code == SQLITE_BUSY }

    /// Damaged pages, another kind of file, or a table that this version did not make.
    var isDamage: Bool {
      switch code {
      case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_MISMATCH: true
      case SQLITE_ERROR:
        ["no such", "malformed", "table ", "index ", "duplicate column"].contains { message.hasPrefix($0) }
      default: false
      }
    }
  }

  /// `nil` once it is closed.
  private var handle: OpaquePointer?
  private var statements: [String: Statement] = [:]
  private let waits: (_ tries: Int) -> Bool

  /// SQLite counts its memory under a lock, twice for each text of a row, unless that is disabled before its first
  /// database.
  private static let countsNoMemory = dlm_sqlite_counts_no_memory()

  /// - Parameter waits: called with the number of tries while another connection has the database; returns whether to
  ///   try again.
  init(_ path: String, writes: Bool, waits: @escaping (_ tries: Int) -> Bool = { _ in false }) throws(Failure) {
    _ = Self.countsNoMemory
    self.waits = waits
    let flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
    let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
    if code != SQLITE_OK { throw error(code) }
  }

  deinit { close() }

  func close() {
    for statement in statements.values { statement.finalize() }
    statements = [:]
    sqlite3_close_v2(handle)
    handle = nil
  }

  fileprivate func error(_ code: CInt) -> Failure {
    Failure(code: code & 0xFF, message: handle.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory")
  }

  /// Prepared once per text.
  func statement(_ sql: String) throws(Failure) -> Statement {
    if let known = statements[sql] { return known }
    var prepared: OpaquePointer?
    var tries = 0
    var code: CInt
    repeat {
      code = sqlite3_prepare_v3(handle, sql, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
      tries += 1
    } while code == SQLITE_BUSY && waits(tries - 1)
    guard code == SQLITE_OK, let prepared else { throw error(code) }
    let statement = Statement(prepared, of: self)
    statements[sql] = statement
    return statement
  }

  /// Whether to wait for another connection: only outside a transaction, where nothing would have to be undone.
  fileprivate func waits(tries: Int) -> Bool { !isInTransaction && waits(tries) }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  var changes: Int { Int(sqlite3_changes(handle)) }

  /// Executes statements whose rows do not matter, separated by semicolons.
  func execute(_ sql: String) throws(Failure) {
    for one in sql.split(separator: ";") where one.contains(where: { !$0.isWhitespace }) {
      try statement(String(one)).execute()
    }
  }

  /// The first column of the first row; `nil` without a row.
  func number(_ sql: String) throws -> Int64? { try statement(sql).rows { $0.number(0) }.first ?? nil }

  /// The first column of all rows.
  func texts(_ sql: String) throws -> [String] { try statement(sql).rows { $0.text(0) }.compactMap(\.self) }

  /// Calls `body` in a transaction that sees the database as of its first query. `body` must not change anything.
  func look<Answer>(_ body: () throws -> Answer) throws -> Answer { try transaction("BEGIN", body) }

  func write<Answer>(_ body: () throws -> Answer) throws -> Answer { try transaction("BEGIN IMMEDIATE", body) }

  private func transaction<Answer>(_ begin: String, _ body: () throws -> Answer) throws -> Answer {
    try execute(begin)
    do {
      let answer = try body()
      try execute("COMMIT")
      return answer
    } catch {
      // After some failures, SQLite has already ended the transaction.
      if isInTransaction { try execute("ROLLBACK") }
      throw error
    }
  }
}

/// A prepared statement of a connection. The connection finalizes it.
final class Statement {
  enum Value {
    case text(String?)
    case number(Int64?)
  }

  let handle: OpaquePointer
  private unowned let connection: Connection

  fileprivate init(_ handle: OpaquePointer, of connection: Connection) {
    self.handle = handle
    self.connection = connection
  }

  fileprivate func finalize() { sqlite3_finalize(handle) }

  private func check(_ code: CInt) throws(Connection.Failure) { if code != SQLITE_OK { throw connection.error(code) } }

  // MARK: All at once

  func execute(_ values: [Value] = []) throws(Connection.Failure) {
    defer { reset() }
    try bind(values)
    while try step() {}
  }

  func rows<Row>(_ values: [Value] = [], _ read: (Statement) throws -> Row) throws -> [Row] {
    defer { reset() }
    try bind(values)
    var rows: [Row] = []
    while try step() { rows.append(try read(self)) }
    return rows
  }

  private func bind(_ values: [Value]) throws(Connection.Failure) {
    for (index, value) in zip(1..., values) { try bind(value, CInt(index)) }
  }

  // MARK: Step by step

  /// Binds bytes that stay where they are until `reset`.
  func bindInPlace(_ text: UnsafeRawBufferPointer, _ index: CInt) throws(Connection.Failure) {
    guard let start = text.baseAddress else {
      // A null pointer would mean NULL, which is not the empty text.
      return try check(dlm_sqlite_bind_copy(handle, index, "", 0))
    }
    try check(sqlite3_bind_text(handle, index, start.assumingMemoryBound(to: CChar.self), CInt(text.count), nil))
  }

  /// Leaves `nil` unbound: after a reset, a parameter without a value is NULL.
  func bind(_ value: Value, _ index: CInt) throws(Connection.Failure) {
    switch value {
    case .text(let text?): try check(dlm_sqlite_bind_copy(handle, index, text, CInt(text.utf8.count)))
    case .number(let number?): try check(sqlite3_bind_int64(handle, index, number))
    case .text(nil), .number(nil): break
    }
  }

  /// - Returns: false after the last row.
  func step() throws(Connection.Failure) -> Bool {
    var tries = 0
    while true {
      switch sqlite3_step(handle) {
      case SQLITE_ROW: return true
      case SQLITE_DONE: return false
      case SQLITE_BUSY:
        let error = connection.error(SQLITE_BUSY)
        sqlite3_reset(handle)
        guard connection.waits(tries: tries) else { throw error }
        tries += 1
      case let code: throw connection.error(code)
      }
    }
  }

  func reset() {
    // Its result is that of the last step.
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  // MARK: The columns of a row

  func number(_ column: CInt) -> Int64? {
    sqlite3_column_type(handle, column) == SQLITE_INTEGER ? sqlite3_column_int64(handle, column) : nil
  }

  func text(_ column: CInt) -> String? { utf8(column).map { String(decoding: $0, as: UTF8.self) } }

  func utf8(_ column: CInt) -> UnsafeBufferPointer<UInt8>? {
    guard sqlite3_column_type(handle, column) == SQLITE_TEXT, let start = sqlite3_column_text(handle, column)
    else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }

  func isNull(_ column: CInt) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
}
