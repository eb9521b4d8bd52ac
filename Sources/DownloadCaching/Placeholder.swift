public import GRDB
public func x() throws -> DatabaseQueue { try DatabaseQueue() }
