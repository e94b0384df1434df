/**
 * At the end of each file: Postgres broke no deadlock meanwhile. Every core takes its locks in one order; a call that did not is
 * answered by its second attempt, and only the log tells.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { afterAll, inject } from "vitest";

const { dataDir, postgresLog } = inject("stack");
// The log of a server that others use as well tells of theirs.
const ownServer = postgresLog.startsWith(dataDir);
let read = ownServer ? statSync(postgresLog).size : 0;

afterAll(() => {
  if (!ownServer) return;
  const { text, size } = newText(read);
  read = size;
  const found = deadlocksIn(text);
  if (found.length) throw new Error(`Postgres broke a deadlock:\n\n${found.join("\n\n")}`);
});

/** The part of the log beyond this size. */
function newText(since: number): { text: string; size: number } {
  const file = openSync(postgresLog, "r");
  try {
    const { size } = fstatSync(file);
    const text = Buffer.alloc(size - since);
    readSync(file, text, 0, text.length, since);
    return { text: text.toString(), size };
  } finally {
    closeSync(file);
  }
}

/** Each deadlock of a log with its lines: the statements in it, what each waited for, and the one that was given up. */
function deadlocksIn(log: string): string[] {
  // A line that begins with a day begins an entry. What explains an error are entries of the same process after it.
  const entries = log.split(/\n(?=\d{4}-\d\d-\d\d )/);
  return entries.flatMap((entry, at) => {
    if (!entry.includes("ERROR:  deadlock detected")) return [];
    const process = /\[\d+\]/.exec(entry)?.[0] ?? "";
    const later = entries.slice(at + 1).filter((other) => other.includes(process));
    const end = later.findIndex((other) => !/ (DETAIL|HINT|CONTEXT|STATEMENT): /.test(other));
    return [[entry, ...later.slice(0, end < 0 ? undefined : end)].join("\n")];
  });
}
