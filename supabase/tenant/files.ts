/** A company's files in Storage: those whose path begins with its id, in every bucket. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { digestOf, readStored, type StoredFile, writeStored } from "./folder.ts";
import type { Place } from "./place.ts";

/** How many are under way at a time. */
const together = 8;

export interface Named {
  bucket: string;
  path: string;
  type: string;
}

export async function namesOfFiles(tx: postgres.TransactionSql, tenant: string): Promise<Named[]> {
  return await tx<Named[]>`
    select o.bucket_id as bucket, o.name as path, coalesce(o.metadata ->> 'mimetype', 'application/octet-stream') as type
    from storage.objects o where o.name like ${`${tenant}/%`} order by 1, 2`;
}

/** Writes them into the folder of an export. Fails with the first that cannot be read. */
export async function downloadFiles(
  { storage }: Place,
  folder: string,
  names: Named[],
): Promise<StoredFile[]> {
  return await each(names, async ({ bucket, path, type }) => {
    const { data, error } = await storage.from(bucket).download(path);
    if (error) throw new Failure(`Storage does not give ${bucket}/${path}: ${error.message}`);
    const bytes = new Uint8Array(await data.arrayBuffer());
    await writeStored(folder, bucket, path, bytes);
    return { bucket, path, type, bytes: bytes.length, sha256: digestOf(bytes) };
  });
}

/** Reads each of them, and nothing else: a folder that is not whole fails here. */
export async function requireFiles(folder: string, files: StoredFile[]): Promise<void> {
  await each(files, (file) => readStored(folder, file));
}

/**
 * Puts them into Storage, over what an import that did not end left there, and reads each back. Those that were put are
 * noted in `put` at once. `stopped`: none is begun after it.
 */
export async function uploadFiles(
  { storage }: Place,
  folder: string,
  files: StoredFile[],
  put: StoredFile[],
  stopped?: AbortSignal,
): Promise<void> {
  await each(files, async (file) => {
    stopped?.throwIfAborted();
    const { bucket, path, type, sha256 } = file;
    const there = storage.from(bucket);
    const bytes = await readStored(folder, file);
    put.push(file);
    const { error } = await there.upload(path, bytes, { contentType: type, upsert: true });
    if (error) throw new Failure(`Storage does not take ${bucket}/${path}: ${error.message}`);
    const { data, error: unread } = await there.download(path);
    if (unread) throw new Failure(`Storage does not give ${bucket}/${path}: ${unread.message}`);
    if (digestOf(new Uint8Array(await data.arrayBuffer())) !== sha256) {
      throw new Failure(`Storage gives another ${bucket}/${path} than it was given.`);
    }
  });
}

/** Removes what an import put there before it failed; answers what Storage does not remove. */
export async function removeFiles({ storage }: Place, files: StoredFile[]): Promise<string[]> {
  const failed = await each(files, async ({ bucket, path }) => {
    const { error } = await storage.from(bucket).remove([path]);
    return error ? [`${bucket}/${path}`] : [];
  });
  return failed.flat();
}

/** Removes these, up to 500 in a call. Fails with the first that Storage refuses. */
export async function removeNamed({ storage }: Place, names: Named[]): Promise<void> {
  for (const bucket of new Set(names.map((name) => name.bucket))) {
    const paths = names.filter((name) => name.bucket === bucket).map(({ path }) => path);
    for (let start = 0; start < paths.length; start += 500) {
      const { error } = await storage.from(bucket).remove(paths.slice(start, start + 500));
      if (error) throw new Failure(`Storage removes no files of ${bucket}: ${error.message}`);
    }
  }
}

/** Ends when all have ended: what is put after a failure would not be removed. */
async function each<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += together) {
    const settled = await Promise.allSettled(items.slice(start, start + together).map(work));
    for (const result of settled) {
      if (result.status === "rejected") throw result.reason;
      results.push(result.value);
    }
  }
  return results;
}
