import { createServer } from "node:net";
import { errorCode, Failure } from "./failure.ts";

/** A port nothing listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** Fails with the line for the developer when the port is taken. `option` is the flag that chooses another one. */
export async function requireFreePort(port: number, option: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
      .once("error", (error) => reject(portFailure(error, port, option)))
      .listen(port, "127.0.0.1", () => probe.close(() => resolve()));
  });
}

/** The line for a port that cannot be listened on. */
export function portFailure(error: unknown, port: number, option: string): unknown {
  switch (errorCode(error)) {
    case "EADDRINUSE":
      return new Failure(
        `Port ${port} is taken: stop what listens there or choose another with npm start -- ${option} <port>.`,
      );
    case "EACCES":
      return new Failure(
        `Port ${port} may not be used by this user: choose one above 1023 with npm start -- ${option} <port>.`,
      );
    default:
      return error;
  }
}
