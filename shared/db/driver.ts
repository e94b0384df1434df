/**
 * The database driver, loaded by the first call that needs the database: a browser asks before it calls, and that question
 * is answered without one. Two faults of the driver are shut out here, others in `pool.ts`:
 *  - Its writes rely on clearImmediate, which does nothing on Deno 2.1, and that ends the process: `immediates.ts` mends it.
 *  - It opens a connection without end that is closed while it is being opened: `sockets.ts` ends that.
 */
import "./immediates.ts";
import postgres from "postgres";
import { databasePool, databasePrepare, databaseUrl } from "../runtime/env.ts";
import { socketsFor } from "./sockets.ts";

/** The connections of one pool. `isReached`: whether the server has answered one of them. */
export function connect(connectSeconds: number, isReached: () => boolean): postgres.Sql {
  return postgres(databaseUrl, {
    max: databasePool,
    prepare: databasePrepare,
    fetch_types: false,
    idle_timeout: 60,
    connect_timeout: connectSeconds,
    max_lifetime: 1800,
    onnotice: () => {},
    connection: { application_name: "barid" },
    // Documented, and not in the driver's types.
    ...{ socket: socketsFor(databasePool, isReached) },
  });
}

/** True for a verdict of the server; every other error came from the connection or from us. */
export const isOfServer = (error: unknown): error is postgres.PostgresError =>
  error instanceof postgres.PostgresError;
