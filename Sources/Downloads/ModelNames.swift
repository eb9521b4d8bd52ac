public import DownloadModel
public import DownloadScheduling

// What a user of this library sees of the rooms below, by name and on purpose: nothing else of them is public here. A
// program that enables the upcoming feature MemberImportVisibility also imports DownloadModel where it uses members of
// these types, and DownloadScheduling where it has a strategy of its own.

/// How one file ended without a failure: its path, its size, and what proves that it is right.
public typealias DownloadedFile = DownloadOutcome
/// A failure of one download, or of the session: its code, cause, address and path.
public typealias DownloadError = DownloadModel.DownloadError
/// What proves that a file is right: a checksum, the length that its server said, or nothing.
public typealias Proof = DownloadModel.Proof
/// A checksum: `ContentDigest("sha256:…")`, or the digits alone.
public typealias ContentDigest = DownloadModel.ContentDigest
/// An attempt that follows a temporary failure.
public typealias NextAttempt = DownloadModel.NextAttempt

/// A way to run a list: in which order, and how many at a time. A program's own type may conform to it.
public typealias DownloadStrategy = DownloadScheduling.DownloadStrategy
/// What a strategy draws from: each request is given once.
public typealias RequestSource = DownloadModel.RequestSource
/// One file of a list, as a strategy sees it.
public typealias DownloadRequest = DownloadModel.DownloadRequest
public typealias SequentialStrategy = DownloadScheduling.SequentialStrategy
public typealias AsyncLetStrategy = DownloadScheduling.AsyncLetStrategy
public typealias TaskGroupStrategy = DownloadScheduling.TaskGroupStrategy
