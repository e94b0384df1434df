/** A change to the source that a careful eye might miss, and the test that must not. */
export interface Mutant {
  /** The description of the removed guard. */
  name: string;
  /** From the root of the repository. */
  file: string;
  /** Stands in the file exactly once. */
  from: string;
  to: string;
  /** The test that fails then: its file and (a part of) its name. */
  test: readonly [file: string, name: string];
}

/** The name of a test as an expression: `%s` and `%j` stand for what a case of it is about. */
export function patternOf(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/%[sj]/g, ".*");
}
