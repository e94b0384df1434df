import { type Context, Hono } from "hono";
import type postgres from "postgres";
import { platformCors } from "../cors.ts";
import { type Caller, identify, NoCaller } from "../callers.ts";
import { messageOf } from "../failure.ts";
import { signLink, type TokenKeys, verifyLink } from "../keys.ts";
import { buckets } from "./buckets.ts";
import { StorageFailure, toStorageFailure } from "./failure.ts";
import { ObjectFiles } from "./files.ts";
import { listObjects } from "./list.ts";
import * as objects from "./objects.ts";
import { readUpload } from "./upload.ts";

/** The dependencies of the Storage stand-in. */
export interface StorageParts {
  sql: postgres.Sql;
  keys: TokenKeys;
  /** Where the bytes go. */
  dir: string;
  log: (line: string) => void;
}

/** The part of Supabase Storage that supabase-js uses. Rows are written as the caller, so real policies decide. */
export function storageApp({ sql, keys, dir, log }: StorageParts): Hono {
  const files = new ObjectFiles(dir);
  const app = new Hono().basePath("/storage/v1");
  const caller = (c: Context) => callerOf(c.req.raw.headers, keys);

  app.use(platformCors);
  app.get("/status", (c) => c.body(null, 200));
  app.route("/bucket", buckets(sql, files, caller));

  app.post("/object/list/:bucket", async (c) => {
    return c.json(
      await listObjects(sql, await caller(c), c.req.param("bucket"), await c.req.json()),
    );
  });

  app.post("/object/move", (c) => relocate(c, false));
  app.post("/object/copy", (c) => relocate(c, true));

  app.post("/object/upload/sign/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    const from = await caller(c);
    await objects.requireUploadAllowed(sql, from, bucket, name);
    const upsert = c.req.header("x-upsert") === "true";
    const token = await signLink({
      url: `${bucket}/${name}`,
      use: "write",
      upsert,
      owner: from.claims.sub,
    }, 7200);
    return c.json({
      url: `/object/upload/sign/${bucket}/${encodePath(name)}?token=${token}`,
      token,
    });
  });
  app.put("/object/upload/sign/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    const link = await linkOf(c, bucket, name, "write");
    const owner: Caller = {
      ...objects.serviceCaller,
      claims: { role: "service_role", sub: link.owner as string },
    };
    const upload = { ...await readUpload(c.req.raw), upsert: link.upsert === true };
    const stored = await objects.putObject(sql, files, owner, bucket, name, upload);
    return c.json({ Id: stored.id, Key: `${bucket}/${name}` });
  });

  app.post("/object/sign/:bucket", async (c) => {
    const bucket = c.req.param("bucket");
    const { expiresIn, paths } = await c.req.json<{ expiresIn: number; paths: string[] }>();
    const from = await caller(c);
    return c.json(
      await Promise.all(paths.map(async (path) => {
        const error = await objects.findObject(sql, from, bucket, path).then(() => null, messageOf);
        return { path, error, signedURL: error ? null : await readLink(bucket, path, expiresIn) };
      })),
    );
  });
  app.post("/object/sign/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    const { expiresIn } = await c.req.json<{ expiresIn: number }>();
    await objects.findObject(sql, await caller(c), bucket, name);
    return c.json({ signedURL: await readLink(bucket, name, expiresIn) });
  });
  app.get("/object/sign/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    await linkOf(c, bucket, name, "read");
    return await send(c, await objects.findObject(sql, objects.serviceCaller, bucket, name));
  });

  app.get("/object/public/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    if (!(await objects.findBucket(sql, bucket)).public) {
      throw new StorageFailure(404, "Bucket not found", "Bucket not found");
    }
    return await send(c, await objects.findObject(sql, objects.serviceCaller, bucket, name));
  });

  for (
    const path of ["/object/info/:bucket/:name{.+}", "/object/info/authenticated/:bucket/:name{.+}"]
  ) {
    app.get(path, async (c) => {
      const { bucket, name } = place(c);
      const { metadata, ...object } = await objects.findObject(sql, await caller(c), bucket, name);
      return c.json({
        id: object.id,
        name,
        version: object.version,
        bucket_id: bucket,
        size: metadata.size,
        content_type: metadata.mimetype,
        cache_control: metadata.cacheControl,
        etag: metadata.eTag,
        metadata: object.user_metadata ?? {},
        last_modified: object.updated_at,
        created_at: object.created_at,
      });
    });
  }
  for (const path of ["/object/authenticated/:bucket/:name{.+}", "/object/:bucket/:name{.+}"]) {
    // Hono answers HEAD through GET without the body.
    app.get(path, async (c) => {
      const { bucket, name } = place(c);
      return await send(c, await objects.findObject(sql, await caller(c), bucket, name));
    });
  }
  app.on(["POST", "PUT"], "/object/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    const from = await caller(c);
    const upload = await readUpload(c.req.raw);
    const upsert = upload.upsert || c.req.method === "PUT";
    if (c.req.method === "PUT") await objects.findObject(sql, from, bucket, name);
    const stored = await objects.putObject(sql, files, from, bucket, name, { ...upload, upsert });
    return c.json({ Id: stored.id, Key: `${bucket}/${name}` });
  });
  app.delete("/object/:bucket", async (c) => {
    const { prefixes } = await c.req.json<{ prefixes: string[] }>();
    return c.json(
      await objects.removeObjects(sql, files, await caller(c), c.req.param("bucket"), prefixes),
    );
  });
  app.delete("/object/:bucket/:name{.+}", async (c) => {
    const { bucket, name } = place(c);
    const [removed] = await objects.removeObjects(sql, files, await caller(c), bucket, [name]);
    if (!removed) throw new StorageFailure(404, "not_found", "Object not found");
    return c.json({ message: "Successfully deleted" });
  });

  app.notFound((c) =>
    c.json(new StorageFailure(404, "not_found", "Not in the local stand-in").body, 404)
  );
  app.onError((error, c) => {
    const failure = toStorageFailure(error);
    if (failure.statusCode >= 500) log(`storage: ${failure.message}`);
    return c.json(failure.body, failure.statusCode >= 500 ? 500 : 400);
  });
  return app;

  async function relocate(c: Context, keep: boolean) {
    const body = await c.req.json<Record<string, string>>();
    const from = { bucket: body.bucketId ?? "", name: body.sourceKey ?? "" };
    const to = { bucket: body.destinationBucket ?? from.bucket, name: body.destinationKey ?? "" };
    const id = keep
      ? await objects.copyObject(sql, files, await caller(c), from, to)
      : await objects.moveObject(sql, await caller(c), from, to);
    const message = `Successfully ${keep ? "copied" : "moved"}`;
    return c.json({ message, Id: id, Key: `${to.bucket}/${to.name}` });
  }

  async function send(c: Context, object: objects.ObjectRow) {
    const download = c.req.query("download");
    const file = download || object.name.split("/").at(-1)!;
    return c.body(await files.read(object.version), 200, {
      "content-type": object.metadata.mimetype,
      "content-length": String(object.metadata.size),
      "cache-control": object.metadata.cacheControl,
      etag: object.metadata.eTag,
      ...(download === undefined
        ? {}
        : { "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file)}` }),
    });
  }
}

async function callerOf(headers: Headers, keys: TokenKeys): Promise<Caller> {
  return await identify(headers, keys).catch((error) => {
    throw error instanceof NoCaller
      ? new StorageFailure(403, "Unauthorized", error.message)
      : error;
  });
}

async function linkOf(c: Context, bucket: string, name: string, use: "read" | "write") {
  const claims = await verifyLink(c.req.query("token") ?? "", use).catch((error) => {
    throw new StorageFailure(400, "InvalidJWT", messageOf(error));
  });
  if (claims.url !== `${bucket}/${name}`) {
    throw new StorageFailure(400, "InvalidSignature", "The link is for another object");
  }
  return claims;
}

async function readLink(bucket: string, name: string, seconds: number): Promise<string> {
  const token = await signLink({ url: `${bucket}/${name}`, use: "read" }, seconds);
  return `/object/sign/${bucket}/${encodePath(name)}?token=${token}`;
}

function place(c: Context): { bucket: string; name: string } {
  return { bucket: c.req.param("bucket") ?? "", name: c.req.param("name") ?? "" };
}

function encodePath(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}
