/** A TCP proxy that can lose connections: at once, or in the middle of what one side says; and that can hold them up. */
import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export interface FaultyWire {
  port: number;
  /** Where new connections go; the server may start after the wire. */
  target: number;
  /** Whether new connections are refused as by a pooler that has no place. */
  full: boolean;
  /** How many connections were ever opened to it. */
  opened: number;
  /** Each answers how many connections it meets. Cuts every connection now. */
  cutAll(): number;
  /** Cuts every connection after a random number of bytes of its next answer. */
  cutInAnswers(): number;
  /** Cuts every connection after a random number of bytes of its next question. */
  cutInQuestions(): number;
  /** Holds every connection up for so long; bytes keep their order. */
  delay(ms: number): number;
  /** Loses for good what the server says on every connection from now on; nobody hears of it. */
  lose(): number;
  close(): void;
}

interface Pair {
  client: Socket;
  server: Socket;
  /** Bytes until the cut, by who says them. */
  left: { client?: number; server?: number };
  lost?: boolean;
}

/** An ErrorResponse of PostgreSQL's protocol, version 3, with what Supavisor answers to one connection too many. */
function poolerError(): Buffer {
  const fields = Buffer.from(
    "SFATAL\0CXX000\0M(EMAXCONN) max client connections reached\0\0",
  );
  const head = Buffer.alloc(5, "E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

export async function startFaultyWire(): Promise<FaultyWire> {
  const pairs = new Set<Pair>();
  const listener = createServer((client) => {
    if (wire.full) {
      client.on("error", () => client.destroy()).once("data", () => client.end(poolerError()));
      return;
    }
    const server = connect(wire.target, "127.0.0.1");
    const pair: Pair = { client, server, left: {} };
    pairs.add(pair);
    wire.opened++;
    const drop = () => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      socket.setNoDelay(true).on("error", drop).on("close", drop);
    }
    const carry = (from: "client" | "server", to: Socket) => (bytes: Buffer) => {
      if (pair.lost && from === "server") return;
      const left = pair.left[from];
      if (left === undefined || bytes.length < left) {
        if (left !== undefined) pair.left[from] = left - bytes.length;
        return void to.write(bytes);
      }
      to.write(bytes.subarray(0, left), drop);
    };
    client.on("data", carry("client", server));
    server.on("data", carry("server", client));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  // An answer of one row has some hundred bytes, an error fewer: cuts fall before, in and after it.
  const soon = () => 1 + Math.floor(Math.random() * 400);
  const wire: FaultyWire = {
    port: (listener.address() as AddressInfo).port,
    target: 0,
    full: false,
    opened: 0,
    cutAll() {
      const cut = [...pairs];
      for (const pair of cut) pair.client.destroy();
      return cut.length;
    },
    cutInAnswers() {
      for (const pair of pairs) pair.left.server = soon();
      return pairs.size;
    },
    cutInQuestions() {
      for (const pair of pairs) pair.left.client = soon();
      return pairs.size;
    },
    lose() {
      for (const pair of pairs) pair.lost = true;
      return pairs.size;
    },
    delay(ms) {
      for (const { client, server } of pairs) {
        for (const socket of [client, server]) {
          socket.pause();
          setTimeout(() => socket.resume(), ms);
        }
      }
      return pairs.size;
    },
    close() {
      wire.cutAll();
      listener.close();
    },
  };
  return wire;
}
