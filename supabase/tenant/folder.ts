/** The folder that an export writes: manifest.json, tables/<schema>.<table>.copy and files/<bucket>/<path>. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { errorCode, Failure } from "../local/failure.ts";
import type { Figures } from "./figures.ts";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const manifestShape = z.object({
  format: z.literal(1),
  version: z.string(),
  schema: z.string(),
  exported_at: z.string(),
  tenant: z.object({
    id: z.guid(),
    slug: z.string().regex(/^[a-z0-9-]+$/),
    status: z.string(),
  }),
  /** Its timeline: cursors of changes that were given until now are of this one, or an earlier one. */
  timeline: z.string().regex(/^\d+$/),
  /** Names of the keys of BARID_SECRETS_KEY that credentials are sealed with. */
  sealed_with: z.array(z.string()),
  /** The last number of each sequence whose numbers the company shows. */
  last_numbers: z.record(z.string(), z.string().regex(/^\d+$/)),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()), sha256 })),
  files: z.array(z.object({
    bucket: z.string().regex(/^[\w-]+$/),
    path: z.string(),
    type: z.string(),
    bytes: z.number(),
    sha256,
  })),
  figures: z.custom<Figures>((value) => typeof value === "object" && value !== null),
});

export type Manifest = z.infer<typeof manifestShape>;
export type StoredFile = Manifest["files"][number];

/** Makes the folder, closed to other users: the rows hold people's data and the hashes of their passwords. */
export function newFolder(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Failure(`${folder} is not empty: an export wants a folder of its own.`);
  }
  mkdirSync(join(folder, "tables"), { recursive: true, mode: 0o700 });
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify(manifest, null, 2);
  await writeFile(join(folder, "manifest.json"), text, { mode: 0o600 });
}

/** Fails on a folder that is no whole export: the manifest is the last that an export writes. */
export async function readManifest(folder: string): Promise<Manifest> {
  let text: string;
  try {
    text = await readFile(join(folder, "manifest.json"), "utf8");
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    throw new Failure(`${folder} holds no whole export: manifest.json is missing.`);
  }
  const read = manifestShape.safeParse(parsed(text));
  if (!read.success) {
    throw new Failure(
      `${join(folder, "manifest.json")} is not what an export of this version writes:\n${
        z.prettifyError(read.error)
      }`,
    );
  }
  return read.data;
}

/** Writes a stream of rows; answers the digest of its bytes. */
export async function writeRows(
  folder: string,
  table: string,
  rows: NodeJS.ReadableStream,
): Promise<string> {
  const { through, digest } = digesting();
  await pipeline(rows, through, createWriteStream(rowsFile(folder, table), { mode: 0o600 }));
  return digest();
}

/** Reads the rows of a table into a stream. Fails when they are not those that were written. */
export async function readRows(
  folder: string,
  { name, sha256 }: Manifest["tables"][number],
  into: NodeJS.WritableStream,
): Promise<void> {
  const { through, digest } = digesting();
  await pipeline(createReadStream(rowsFile(folder, name)), through, into);
  requireSame(rowsFile(folder, name), digest(), sha256);
}

export async function writeStored(folder: string, bucket: string, path: string, bytes: Uint8Array) {
  const file = storedFile(folder, bucket, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, bytes, { mode: 0o600 });
}

/** The bytes of a stored file. Fails when they are not those that were written. */
export async function readStored(folder: string, file: StoredFile): Promise<Uint8Array> {
  const name = storedFile(folder, file.bucket, file.path);
  const bytes = await readFile(name);
  requireSame(name, digestOf(bytes), file.sha256);
  return bytes;
}

export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function rowsFile(folder: string, table: string): string {
  return join(folder, "tables", `${table}.copy`);
}

function storedFile(folder: string, bucket: string, path: string): string {
  const files = resolve(folder, "files", bucket);
  const file = resolve(files, path);
  if (relative(files, file).startsWith("..")) throw new Failure(`"${path}" leads out of ${files}.`);
  return file;
}

function requireSame(name: string, found: string, wanted: string): void {
  if (found !== wanted) throw new Failure(`${name} is not as it was exported (SHA-256 ${found}).`);
}

function digesting() {
  const hash = createHash("sha256");
  const through = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { through, digest: () => hash.digest("hex") };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
