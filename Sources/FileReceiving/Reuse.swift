/// How a request may reuse a stored answer (HTTP rules 18, 29 and 30).
package enum Reuse {
  /// The stored request equals this one: its answer is used while fresh, offline, as a copy, and to resume.
  case asOwn
  /// The stored request had other credentials or selecting fields. A strong entity tag tells whether its answer is this
  /// request's too, because the tag identifies one representation of the resource.
  case byStrongTag
  /// An unchecked server sent the answer and this run checks servers, or a list steered one of the two: a tag may be
  /// forged.
  case never
}
