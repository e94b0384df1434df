/** How much runs at a time follows the machine. */
import { availableParallelism } from "node:os";

/** Test files at a time: one a core, and two where there is one, since each waits for the others' answers half the time. */
export const workers = Number(process.env.BARID_TEST_WORKERS) ||
  Math.max(2, availableParallelism());

/** Function processes of the shared stack: one carries the requests of two test files. */
export const functionProcesses = Math.max(1, Math.floor(workers / 2));
