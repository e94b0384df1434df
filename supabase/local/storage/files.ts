import { createReadStream } from "node:fs";
import { mkdir, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";

/** Where the bytes of the objects lie: one file per version, so that an overwritten one is never half old, half new. */
export class ObjectFiles {
  constructor(private readonly dir: string) {}

  /** Writes the bytes of a new version, flushed to the disk before the row that names it is committed. */
  async write(version: string, bytes: Uint8Array): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    const file = await open(this.path(version), "wx");
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** A stream of the bytes. */
  async read(version: string): Promise<ReadableStream> {
    await stat(this.path(version));
    return Readable.toWeb(createReadStream(this.path(version))) as ReadableStream;
  }

  async remove(version: string): Promise<void> {
    await rm(this.path(version), { force: true });
  }

  /** Versions are ids made by us, never names from a request, so no path can lead out of the folder. */
  private path(version: string): string {
    if (!/^[0-9a-f-]{36}$/.test(version)) throw new Error(`"${version}" is not a version`);
    return join(this.dir, version);
  }
}
