/** How much runs at a time follows the machine. */
import { availableParallelism } from "node:os";

/** Test files at a time: one more than there are cores, since each waits for answers of Postgres and of functions. */
export const workers = Number(process.env.BARID_TEST_WORKERS) || availableParallelism() + 1;

/** Function processes of the shared stack: one carries the requests of two test files. */
export const functionProcesses = Math.max(1, Math.floor(workers / 2));
