import { type Context, Hono } from "hono";
import type postgres from "postgres";
import { asCaller, type Caller } from "../callers.ts";
import type { BucketConfig } from "../config.ts";
import { StorageFailure } from "./failure.ts";
import type { ObjectFiles } from "./files.ts";
import { removeObjects } from "./objects.ts";

interface BucketBody {
  id?: string;
  name?: string;
  public?: boolean;
  file_size_limit?: number | null;
  allowed_mime_types?: string[] | null;
}

/** `/bucket`: as the caller, so without policies only the secret key manages buckets. */
export function buckets(
  sql: postgres.Sql,
  files: ObjectFiles,
  callerOf: (c: Context) => Promise<Caller>,
): Hono {
  const app = new Hono();
  app.get("/", async (c) => {
    const caller = await callerOf(c);
    return c.json(
      await asCaller(sql, caller, (tx) => tx`select * from storage.buckets order by name`),
    );
  });
  app.get("/:id", async (c) => {
    const caller = await callerOf(c);
    const [bucket] = await asCaller(
      sql,
      caller,
      (tx) => tx`select * from storage.buckets where id = ${c.req.param("id")}`,
    );
    if (!bucket) throw new StorageFailure(404, "Bucket not found", "Bucket not found");
    return c.json(bucket);
  });
  app.post("/", async (c) => {
    const caller = await callerOf(c);
    const body = await c.req.json<BucketBody>();
    const name = body.name ?? body.id ?? "";
    if (!/^[\w!\-.*'() &$@=;:+,?]+$/.test(name)) {
      throw new StorageFailure(400, "InvalidBucketName", "Bucket name invalid");
    }
    await asCaller(
      sql,
      caller,
      (tx) =>
        tx`insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
        values (${body.id ?? name}, ${name}, ${body.public ?? false}, ${
          body.file_size_limit ?? null
        },
          ${body.allowed_mime_types ?? null})`,
    );
    return c.json({ name });
  });
  app.put("/:id", async (c) => {
    const caller = await callerOf(c);
    const body = await c.req.json<BucketBody>();
    const { count } = await asCaller(
      sql,
      caller,
      (tx) =>
        tx`update storage.buckets set public = ${body.public ?? false}, updated_at = now(),
        file_size_limit = ${body.file_size_limit ?? null}, allowed_mime_types = ${
          body.allowed_mime_types ?? null
        }
        where id = ${c.req.param("id")}`,
    );
    if (count === 0) throw new StorageFailure(404, "Bucket not found", "Bucket not found");
    return c.json({ message: "Successfully updated" });
  });
  app.post("/:id/empty", async (c) => {
    const caller = await callerOf(c);
    const id = c.req.param("id");
    const names = await asCaller(
      sql,
      caller,
      (tx) => tx<{ name: string }[]>`select name from storage.objects where bucket_id = ${id}`,
    );
    await removeObjects(sql, files, caller, id, names.map(({ name }) => name));
    return c.json({ message: "Successfully emptied" });
  });
  app.delete("/:id", async (c) => {
    const caller = await callerOf(c);
    const id = c.req.param("id");
    const { count } = await asCaller(
      sql,
      caller,
      (tx) => tx`delete from storage.buckets where id = ${id}`,
    )
      .catch((error) => {
        if (error.code !== "23503") throw error;
        throw new StorageFailure(
          409,
          "InvalidRequest",
          "The bucket you tried to delete is not empty",
        );
      });
    if (count === 0) throw new StorageFailure(404, "Bucket not found", "Bucket not found");
    return c.json({ message: "Successfully deleted" });
  });
  return app;
}

/** Brings the buckets of supabase/config.toml into being, or up to date. */
export async function createBuckets(sql: postgres.Sql, wanted: BucketConfig[]): Promise<void> {
  for (const bucket of wanted) {
    await sql`insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
      values (${bucket.name}, ${bucket.name}, ${bucket.public}, ${bucket.fileSizeLimit}, ${bucket.allowedMimeTypes})
      on conflict (id) do update set public = excluded.public, file_size_limit = excluded.file_size_limit,
        allowed_mime_types = excluded.allowed_mime_types`;
  }
}
