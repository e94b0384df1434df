/** Private files in Supabase Storage: kept by path, reached through links that are signed for a while. */
import { supabaseUrl } from "../runtime/env.ts";
import { AppError } from "../errors/errors.ts";
import { describeError, log } from "../runtime/log.ts";
import { callPlatform, OutboundFailure } from "./fetch.ts";

const limits = { timeoutMs: 5_000, retries: 2, retryOn: [502, 503, 504] };

/** An address that takes one upload to this path for two hours. */
export async function signUpload(
  bucket: string,
  path: string,
): Promise<{ upload_url: string; token: string }> {
  const { url, token } = await askStorage<{ url: string; token: string }>(
    `/object/upload/sign/${bucket}/${path}`,
    {},
  );
  return { upload_url: `${supabaseUrl}/storage/v1${url}`, token };
}

/** Links to files, signed anew; null for one that is not there. */
export async function signReads(
  bucket: string,
  paths: string[],
  seconds = 300,
): Promise<Map<string, string | null>> {
  if (paths.length === 0) return new Map();
  const signed = await askStorage<{ path: string; signedURL: string | null }[]>(
    `/object/sign/${bucket}`,
    { expiresIn: seconds, paths },
  );
  return new Map(
    signed.map((
      { path, signedURL },
    ) => [path, signedURL && `${supabaseUrl}/storage/v1${signedURL}`]),
  );
}

/** Writes a file, over an older one of the same path. Throws when the storage does not take it. */
export async function putFile(
  bucket: string,
  path: string,
  file: Uint8Array,
  type: string,
): Promise<void> {
  const response = await callPlatform(`/storage/v1/object/${bucket}/${path}`, {
    method: "POST",
    body: file,
    headers: { "content-type": type, "x-upsert": "true" },
  }, { ...limits, timeoutMs: 20_000 });
  if (!response.ok) throw new OutboundFailure(`storage answered ${response.status}`);
  await response.body?.cancel();
}

async function askStorage<T>(path: string, body: Record<string, unknown>): Promise<T> {
  try {
    const response = await callPlatform(`/storage/v1${path}`, { method: "POST", body }, limits);
    if (!response.ok) throw new OutboundFailure(`storage answered ${response.status}`);
    return await response.json() as T;
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    log("warn", "storage_unavailable", { path, ...describeError(error) });
    throw new AppError("service_unavailable");
  }
}
