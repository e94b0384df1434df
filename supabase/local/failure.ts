/** A failure the developer can act on: printed as one line that says what to do, without a stack. */
export class Failure extends Error {}

/** Turns what the operating system reports into the sentence a developer can act on; anything unknown stays itself. */
export function explain(error: unknown, place: string): unknown {
  switch (errorCode(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return new Failure(`The disk is full: free some space for ${place}, then start again.`);
    case "EACCES":
    case "EPERM":
      return new Failure(`${place} cannot be read or written by this user: fix its owner or mode.`);
    case "EROFS":
      return new Failure(
        `${place} is on a read-only disk: move the repository or remount the disk.`,
      );
    case "ENOTDIR":
    case "EEXIST":
      return new Failure(`${place} is not a folder: move that file away, then start again.`);
    default:
      return error;
  }
}

/** The system or SQL code of an error, empty when it has none. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}

/** The words of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
