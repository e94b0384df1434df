/**
 * The sockets that one pool of the driver gets. The driver (postgres 3.4) opens a connection that is closed while it is
 * being opened again at once, without end and without notifying the waiting calls; sooner or later it then forgets to send its
 * first message, and the connection hangs until its time is over, long after the server is back. So a pool gets no more
 * sockets than it has use for: a further request is refused, which the driver does report, and the pool is retired.
 * See https://github.com/porsager/postgres/issues/1193.
 */
import { Socket } from "node:net";

/** The driver's description of the address to connect to. */
interface Target {
  host: string[];
  port: number[];
}

/**
 * Makes the sockets of one pool of so many connections: one until `reached` says that the server has answered, then as many
 * in a second as there are connections. `now`: milliseconds. Throws when the driver asks for more.
 */
export function socketsFor(
  connections: number,
  reached: () => boolean,
  now = () => performance.now(),
) {
  let given: number[] = [];
  return ({ host: [host], port: [port] }: Target): Socket => {
    if (reached()) given = given.filter((at) => at > now() - 1_000);
    if (given.length >= (reached() ? connections : 1)) {
      throw new Error("the database closes connections that are being opened");
    }
    given.push(now());
    // The driver asks for the certificate of this name.
    return Object.assign(new Socket(), { host }).connect(port, host);
  };
}
