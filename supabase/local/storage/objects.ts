import { createHash, randomUUID } from "node:crypto";
import type postgres from "postgres";
import { asCaller, type Caller } from "../callers.ts";
import { StorageFailure } from "./failure.ts";
import type { ObjectFiles } from "./files.ts";

/** A row of storage.buckets, as far as it decides anything. */
export interface Bucket {
  id: string;
  public: boolean;
  file_size_limit: string | null;
  allowed_mime_types: string[] | null;
}

/** A row of storage.objects. */
export interface ObjectRow {
  id: string;
  name: string;
  bucket_id: string;
  version: string;
  metadata: { mimetype: string; size: number; eTag: string; cacheControl: string };
  user_metadata: Record<string, unknown> | null;
  created_at: Date;
  updated_at: Date;
  last_accessed_at: Date;
}

/** Where an object lies. */
export interface Place {
  bucket: string;
  name: string;
}

/** The bytes of an upload and what the client says about them. */
export interface Upload {
  bytes: Uint8Array;
  contentType: string;
  cacheControl: string;
  upsert: boolean;
  metadata: Record<string, unknown> | null;
}

/** The link of a signed upload stands for whoever asked for it, also in the owner column. */
export const serviceCaller: Caller = { role: "service_role", claims: { role: "service_role" } };

/** The bucket; looked up beyond RLS, because the limits of a bucket hold for those who may not list it too. */
export async function findBucket(sql: postgres.Sql, id: string): Promise<Bucket> {
  const [bucket] = await sql<Bucket[]>`
    select id, public, file_size_limit, allowed_mime_types from storage.buckets where id = ${id}`;
  if (!bucket) throw new StorageFailure(404, "Bucket not found", "Bucket not found");
  return bucket;
}

/** The object if the caller may see it. */
export async function findObject(
  sql: postgres.Sql,
  caller: Caller,
  bucketId: string,
  name: string,
): Promise<ObjectRow> {
  const [object] = await asCaller(sql, caller, (transaction) =>
    transaction<ObjectRow[]>`
      select * from storage.objects where bucket_id = ${bucketId} and name = ${name}`);
  if (!object) throw new StorageFailure(404, "not_found", "Object not found");
  return object;
}

/** Fails as an upload would: with a bad name, in an unknown bucket, or refused by the caller's policies. */
export async function requireUploadAllowed(
  sql: postgres.Sql,
  caller: Caller,
  bucketId: string,
  name: string,
): Promise<void> {
  requireName(name);
  await findBucket(sql, bucketId);
  const undo = new Error("undo");
  try {
    await asCaller(sql, caller, async (transaction) => {
      const row = { bucketId, name, version: randomUUID(), metadata: {}, userMetadata: null };
      await insertObject(transaction, caller, row, false);
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
}

/** Stores the bytes under the name if bucket and policies allow. Row and bytes come together or not at all. */
export async function putObject(
  sql: postgres.Sql,
  files: ObjectFiles,
  caller: Caller,
  bucketId: string,
  name: string,
  upload: Upload,
): Promise<{ id: string; name: string }> {
  requireName(name);
  requireAccepted(await findBucket(sql, bucketId), upload);
  const version = randomUUID();
  const metadata = {
    eTag: `"${createHash("md5").update(upload.bytes).digest("hex")}"`,
    size: upload.bytes.byteLength,
    mimetype: upload.contentType,
    cacheControl: upload.cacheControl,
    lastModified: new Date().toISOString(),
    contentLength: upload.bytes.byteLength,
    httpStatusCode: 200,
  };
  let replaced: { id: string; version: string } | undefined;
  try {
    const id = await asCaller(sql, caller, async (transaction) => {
      if (upload.upsert) replaced = await lockObject(transaction, bucketId, name);
      const row = { bucketId, name, version, metadata, userMetadata: upload.metadata };
      const inserted = await insertObject(transaction, caller, row, upload.upsert);
      await files.write(version, upload.bytes);
      return replaced?.id ?? inserted;
    });
    if (replaced) await files.remove(replaced.version);
    return { id, name };
  } catch (error) {
    await files.remove(version);
    throw error;
  }
}

/** Deletes what the caller may delete of the names, and answers just those. */
export async function removeObjects(
  sql: postgres.Sql,
  files: ObjectFiles,
  caller: Caller,
  bucketId: string,
  names: string[],
): Promise<ObjectRow[]> {
  const removed = await asCaller(sql, caller, (transaction) =>
    transaction<ObjectRow[]>`
      delete from storage.objects where bucket_id = ${bucketId} and name = any (${names}) returning *`);
  await Promise.all(removed.map((object) => files.remove(object.version)));
  return removed;
}

/** Gives an object another name or bucket; the bytes stay where they are. */
export async function moveObject(
  sql: postgres.Sql,
  caller: Caller,
  from: Place,
  to: Place,
): Promise<string> {
  requireName(to.name);
  await findBucket(sql, to.bucket);
  const object = await findObject(sql, caller, from.bucket, from.name);
  const { count } = await asCaller(sql, caller, (transaction) =>
    transaction`
      update storage.objects set bucket_id = ${to.bucket}, name = ${to.name}, updated_at = now()
      where id = ${object.id}`);
  if (count === 0) throw new StorageFailure(404, "not_found", "Object not found");
  return object.id;
}

/** Writes the bytes of one object to another place, within what the caller may read and write. */
export async function copyObject(
  sql: postgres.Sql,
  files: ObjectFiles,
  caller: Caller,
  from: Place,
  to: Place,
): Promise<string> {
  const object = await findObject(sql, caller, from.bucket, from.name);
  const bytes = new Uint8Array(await new Response(await files.read(object.version)).arrayBuffer());
  const { mimetype: contentType, cacheControl } = object.metadata;
  const upload = {
    bytes,
    contentType,
    cacheControl,
    upsert: false,
    metadata: object.user_metadata,
  };
  return (await putObject(sql, files, caller, to.bucket, to.name, upload)).id;
}

function requireName(name: string): void {
  if (/^[\w!\-.*'() &$@=;:+,?/]+$/.test(name) && !name.startsWith("/") && !name.endsWith("/")) {
    return;
  }
  throw new StorageFailure(400, "InvalidKey", `Invalid key: ${name}`);
}

function requireAccepted(bucket: Bucket, { bytes, contentType }: Upload): void {
  if (bucket.file_size_limit !== null && bytes.byteLength > Number(bucket.file_size_limit)) {
    throw new StorageFailure(
      413,
      "Payload too large",
      "The object exceeded the maximum allowed size",
    );
  }
  const type = contentType.split(";")[0]!.trim().toLowerCase();
  const accepted =
    bucket.allowed_mime_types?.some((allowed) =>
      allowed === type || (allowed.endsWith("/*") && type.startsWith(allowed.slice(0, -1)))
    ) ?? true;
  if (!accepted) {
    throw new StorageFailure(415, "invalid_mime_type", `mime type ${contentType} is not supported`);
  }
}

interface NewObject {
  bucketId: string;
  name: string;
  version: string;
  metadata: Record<string, string | number>;
  /** The client's own words about the file. */
  userMetadata: Record<string, unknown> | null;
}

async function insertObject(
  sql: postgres.TransactionSql,
  caller: Caller,
  { bucketId, name, version, metadata, userMetadata }: NewObject,
  upsert: boolean,
): Promise<string> {
  const owner = caller.claims.sub ?? null;
  const id = randomUUID();
  const replace = upsert
    ? sql`on conflict (bucket_id, name) do update set version = excluded.version, metadata = excluded.metadata,
        user_metadata = excluded.user_metadata, owner = excluded.owner, owner_id = excluded.owner_id,
        updated_at = now()`
    : sql``;
  // Without "returning": that would demand the right to read what was written, which uploading does not.
  await sql`
    insert into storage.objects (id, bucket_id, name, owner, owner_id, version, metadata, user_metadata)
    values (${id}, ${bucketId}, ${name}, ${owner}, ${owner}, ${version}, ${sql.json(metadata)},
      ${userMetadata && sql.json(userMetadata as postgres.JSONValue)})
    ${replace}`;
  return id;
}

async function lockObject(sql: postgres.TransactionSql, bucketId: string, name: string) {
  const [old] = await sql<{ id: string; version: string }[]>`
    select id, version from storage.objects where bucket_id = ${bucketId} and name = ${name} for update`;
  return old;
}
