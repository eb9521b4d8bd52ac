/// What a stored answer is worth to a request (HTTP rules 18, 29 and 30).
package enum Reuse: Equatable {
  /// It was the answer to a request like this one: used while fresh, offline, copied, and continued.
  case asOwn
  /// It was the answer to a request with other credentials or selecting fields. A strong entity tag tells whether it is
  /// this one's too, since it names one representation among all of the resource's.
  case byStrongTag
  /// It is from an unchecked server, and this run checks: a tag may be the forger's, too.
  case never
}
