/** Private files in Supabase Storage: kept by path, reached through links that are signed for a while. */
import type { SupabaseClient } from "@supabase/supabase-js";
import { AppError } from "../errors/errors.ts";
import { describeError, log } from "../runtime/log.ts";
import { OutboundFailure } from "./fetch.ts";
import { supabaseAdmin } from "./supabase.ts";

const limits = { timeoutMs: 5_000, retries: 2, retryOn: [502, 503, 504] };

/** An address that takes one upload to this path for two hours. Fails: service_unavailable. */
export async function signUpload(
  bucket: string,
  path: string,
): Promise<{ upload_url: string; token: string }> {
  const { signedUrl, token } = await ask(
    bucket,
    (files) => files.createSignedUploadUrl(path),
  );
  return { upload_url: signedUrl, token };
}

/** Links to files, signed anew for so many seconds; null for one that is not there. Fails: service_unavailable. */
export async function signReads(
  bucket: string,
  paths: string[],
  seconds = 300,
): Promise<Map<string, string | null>> {
  if (paths.length === 0) return new Map();
  const signed = await ask(bucket, (files) => files.createSignedUrls(paths, seconds));
  return new Map(signed.map(({ path, signedUrl }) => [path ?? "", signedUrl]));
}

/** Writes a file, over an older one of the same path. Fails with OutboundFailure when the storage does not take it. */
export async function putFile(
  bucket: string,
  path: string,
  file: Uint8Array,
  type: string,
): Promise<void> {
  const { storage } = await supabaseAdmin({ ...limits, timeoutMs: 20_000 });
  const { error } = await storage.from(bucket).upload(path, file, {
    contentType: type,
    upsert: true,
    // The client would have private files cached for an hour.
    headers: { "cache-control": "no-cache" },
  });
  if (error) throw new OutboundFailure(`storage: ${error.message}`, { cause: error });
}

type Files = ReturnType<SupabaseClient["storage"]["from"]>;

async function ask<T>(
  bucket: string,
  call: (files: Files) => Promise<{ data: T | null; error: Error | null }>,
): Promise<T> {
  const { storage } = await supabaseAdmin(limits);
  const { data, error } = await call(storage.from(bucket));
  if (data && !error) return data;
  log("warn", "storage_unavailable", { bucket, ...describeError(error) });
  throw new AppError("service_unavailable");
}
