/**
 * zlib streams (what PDF calls /FlateDecode) by the runtime's own code: five times as fast as the
 * JavaScript one inside pdf-lib, and without its 250 KB of garbage for each stream.
 */
export function deflate(text: string): Promise<Uint8Array> {
  return through(new CompressionStream("deflate"), new TextEncoder().encode(text));
}

/** Undoes `deflate`. */
export function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  return through(new DecompressionStream("deflate"), bytes);
}

async function through(
  { writable, readable }: CompressionStream | DecompressionStream,
  bytes: Uint8Array,
): Promise<Uint8Array> {
  const writer = writable.getWriter();
  // Not awaited one by one: the writer waits for the reader.
  const [result] = await Promise.all([
    new Response(readable).arrayBuffer(),
    writer.write(bytes as BufferSource),
    writer.close(),
  ]);
  return new Uint8Array(result);
}
