import { Buffer } from "node:buffer";

/** One message of the Phoenix protocol, whichever way it was packed. */
export interface Message {
  topic: string;
  event: string;
  // deno-lint-ignore no-explicit-any -- whatever the client sent; each use checks what it reads
  payload: any;
  ref: string | null;
  joinRef: string | null;
}

/** Reads a frame: an object (version 1), an array (version 2), or a broadcast packed into bytes (version 2). */
export function decode(data: Buffer, isBinary: boolean): Message | undefined {
  if (isBinary) return decodeBroadcast(data);
  try {
    const message = JSON.parse(data.toString("utf8"));
    if (!Array.isArray(message)) return { ...message, joinRef: message.join_ref ?? null };
    const [joinRef, ref, topic, event, payload] = message;
    return { joinRef, ref, topic, event, payload };
  } catch {
    // A message that is not JSON is ignored; the real service drops it too.
    return undefined;
  }
}

/** Packs a message the way the client's version reads it. */
export function encode({ joinRef, ref, topic, event, payload }: Message, version: 1 | 2): string {
  return JSON.stringify(
    version === 2
      ? [joinRef, ref, topic, event, payload]
      : { topic, event, payload, ref, join_ref: joinRef },
  );
}

/** A broadcast whose payload is JSON already. */
export function encodePacked(
  { topic, joinRef, payload }: { topic: string; joinRef: string | null; payload: string },
  version: 1 | 2,
): string {
  const [name, ref] = [JSON.stringify(topic), JSON.stringify(joinRef)];
  return version === 2
    ? `[${ref},null,${name},"broadcast",${payload}]`
    : `{"topic":${name},"event":"broadcast","payload":${payload},"ref":null,"join_ref":${ref}}`;
}

/** A kind (3), five lengths, how the payload is packed (1 = JSON), the five texts, the payload. */
function decodeBroadcast(data: Buffer): Message | undefined {
  if (data.readUInt8(0) !== 3 || data.readUInt8(6) !== 1) return undefined;
  let offset = 7;
  const [joinRef, ref, topic, event] = [1, 2, 3, 4, 5].map((at) => {
    const from = offset;
    offset += data.readUInt8(at);
    return data.toString("utf8", from, offset);
  });
  const payload = JSON.parse(data.toString("utf8", offset));
  return {
    joinRef: joinRef || null,
    ref: ref || null,
    topic: topic!,
    event: "broadcast",
    payload: { type: "broadcast", event, payload },
  };
}
