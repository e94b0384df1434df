import { Buffer } from "node:buffer";
import type { Upload } from "./objects.ts";
import { StorageFailure } from "./failure.ts";

/** Reads an upload as supabase-js sends it: a form with one file, or the bytes themselves with headers. */
export async function readUpload(request: Request): Promise<Upload> {
  const contentType = request.headers.get("content-type") ?? "application/octet-stream";
  const upsert = request.headers.get("x-upsert") === "true";
  if (!contentType.startsWith("multipart/form-data")) {
    return {
      bytes: new Uint8Array(await request.arrayBuffer()),
      contentType,
      cacheControl: request.headers.get("cache-control") ?? "no-cache",
      upsert,
      metadata: parseMetadata(request.headers.get("x-metadata"), "base64"),
    };
  }
  const form = await request.formData();
  // supabase-js gives the file an empty name, other clients call it "file".
  const file = [...form.values()].find((value) => typeof value !== "string");
  if (!file || typeof file === "string") {
    throw new StorageFailure(400, "invalid_request", "The form has no file");
  }
  const cacheControl = form.get("cacheControl");
  const metadata = form.get("metadata");
  return {
    bytes: new Uint8Array(await file.arrayBuffer()),
    contentType: file.type || "application/octet-stream",
    cacheControl: cacheControl ? `max-age=${cacheControl}` : "no-cache",
    upsert,
    metadata: parseMetadata(typeof metadata === "string" ? metadata : null, "utf8"),
  };
}

function parseMetadata(
  text: string | null,
  encoding: "base64" | "utf8",
): Record<string, unknown> | null {
  if (!text) return null;
  try {
    return JSON.parse(Buffer.from(text, encoding).toString("utf8"));
  } catch {
    throw new StorageFailure(400, "invalid_request", "The metadata is not JSON");
  }
}
