/** A TCP proxy before Postgres that can lose connections: at once, or in the middle of an answer. */
import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export interface FaultyWire {
  port: number;
  /** Where new connections go; the server may start after the wire. */
  target: number;
  /** Cuts every connection now. */
  cutAll(): number;
  /** Cuts every connection after a random number of bytes of its next answer. */
  cutInAnswers(): number;
  close(): void;
}

export async function startFaultyWire(): Promise<FaultyWire> {
  const pairs = new Set<{ client: Socket; server: Socket; cutAfter?: number }>();
  const listener = createServer((client) => {
    const server = connect(wire.target, "127.0.0.1");
    const pair: { client: Socket; server: Socket; cutAfter?: number } = { client, server };
    pairs.add(pair);
    const drop = () => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on("error", drop).on("close", drop);
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      if (pair.cutAfter === undefined) return client.write(bytes);
      if (bytes.length < pair.cutAfter) {
        pair.cutAfter -= bytes.length;
        return client.write(bytes);
      }
      client.write(bytes.subarray(0, pair.cutAfter), drop);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const wire: FaultyWire = {
    port: (listener.address() as AddressInfo).port,
    target: 0,
    cutAll() {
      const cut = [...pairs];
      for (const pair of cut) pair.client.destroy();
      return cut.length;
    },
    cutInAnswers() {
      // An answer of one row has some hundred bytes, an error fewer: cuts fall before, in and after it.
      for (const pair of pairs) pair.cutAfter = 1 + Math.floor(Math.random() * 400);
      return pairs.size;
    },
    close() {
      wire.cutAll();
      listener.close();
    },
  };
  return wire;
}
