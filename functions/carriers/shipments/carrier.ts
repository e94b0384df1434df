/** A carrier to be called: its adapter, its credentials, and what a call that failed means. */
import { AppError } from "../../../shared/errors/errors.ts";
import { credentialsPurpose } from "../../../shared/outbound/purposes.ts";
import { unseal } from "../../../shared/outbound/secrets.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import type { Adapter, Credentials } from "../adapters/adapter.ts";
import { adapterOf } from "../adapters/registry.ts";

export async function adapterFor(code: string): Promise<Adapter> {
  const adapter = await adapterOf(code);
  if (!adapter) throw new AppError("carrier_unavailable");
  return adapter;
}

export async function opened(code: string, sealed: string | null): Promise<Credentials> {
  return sealed ? JSON.parse(await unseal(sealed, credentialsPurpose(code))) : {};
}

export function asRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  log("warn", "carrier_unavailable", describeError(error));
  return new AppError("carrier_unavailable");
}
