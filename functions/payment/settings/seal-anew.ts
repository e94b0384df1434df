/** Seals anew what is stored and was sealed with another key than the first of BARID_SECRETS_KEY, so that the other can go. */
import { repeatable } from "../../../shared/db/db.ts";
import { log } from "../../../shared/runtime/log.ts";
import {
  credentialsPurpose,
  gatewayPurpose,
  secretPurpose,
  webhookPurpose,
} from "../../../shared/outbound/purposes.ts";
import { firstKey, printOf, seal, SealBroken, unseal } from "../../../shared/outbound/secrets.ts";

/** A row of integration.sealed_otherwise. */
interface Sealed {
  place: "webhook" | "carrier-credentials" | "carrier-webhook" | "gateway";
  id: string;
  tenant_id: string;
  code: string;
  sealed: string;
  is_signing: boolean;
  after: string;
}

const purposes: Record<Sealed["place"], (of: Sealed) => string> = {
  webhook: ({ id }) => secretPurpose(id),
  "carrier-credentials": ({ code }) => credentialsPurpose(code),
  "carrier-webhook": ({ code }) => webhookPurpose(code),
  gateway: ({ tenant_id, code }) => gatewayPurpose(tenant_id, code),
};
const batch = 100;

/** Does all of it, a batch at a time; what cannot be opened stays as it is, with a line `secret_not_opened` in the log. */
export async function sealAnew(): Promise<void> {
  const key = firstKey();
  for (let after = "";;) {
    const found = await repeatable<Sealed[]>(
      "select integration.sealed_otherwise($1::text, $2::text, $3::text::integer) as answer",
      [key, after, batch],
    );
    for (const one of found) await replace(one);
    if (found.length < batch) return;
    after = found.at(-1)!.after;
  }
}

async function replace(one: Sealed): Promise<void> {
  const { place, id, tenant_id, sealed } = one;
  const purpose = purposes[place](one);
  let text: string;
  try {
    text = await unseal(sealed, purpose);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    log("warn", "secret_not_opened", { place, id, tenant: tenant_id, error: error.message });
    return;
  }
  await repeatable<boolean>(
    "select integration.sealed_replace($1::text, $2::text::uuid, $3::text, $4::text, $5::text) as answer",
    [place, id, sealed, await seal(text, purpose), one.is_signing ? printOf(text) : null],
  );
}
