/** Verifying a domain: read what it needs, look it up, write down what was found. */
import { type Database, system } from "../../../shared/db/db.ts";
import { type Language, translate } from "../../../shared/i18n/index.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { type Check, checkRecords, type DnsRecord } from "./dns.ts";

/** Another market that has proven the domain, and the record that proves it. */
export interface Holder {
  id: string;
  record: DnsRecord;
}

interface Domain {
  id: string;
  custom_domain: string;
  status: "pending_dns" | "active";
  dns_records: DnsRecord[];
  dns_verified_at: string | null;
  holder: Holder | null;
}

/** True when the record that proves the domain is there no more; a resolver that does not answer says nothing. */
export async function isGone({ record }: Holder): Promise<boolean> {
  const [{ reason }] = await checkRecords([record]);
  return reason === "dns_record_missing" || reason === "dns_record_different";
}

/** True when every record is there; null when a resolver that did not answer leaves it open. */
function isComplete(checks: readonly Check[]): boolean | null {
  if (checks.every(({ ok }) => ok)) return true;
  return checks.some(({ ok, reason }) => !ok && reason !== "dns_unreachable") ? false : null;
}

/** The holder whose proof is gone, where this domain has its records and another market holds it. */
async function holderGone({ holder }: Domain, complete: boolean | null): Promise<string | null> {
  return holder && complete && await isGone(holder) ? holder.id : null;
}

/** An active domain: the daily look-up decides about it, and is not put off by who asks meanwhile. */
function asItStands({ id, custom_domain, status, dns_verified_at }: Domain) {
  return { verified: true, custom_domain: { id, custom_domain, status, dns_verified_at } };
}

/** The answer of a look-up that a caller asked for, with a reason for each record that is not there. */
export async function verifyDomain(context: { db: Database; language(): Language }) {
  const { db } = context;
  const domain = await db.call<Domain>("storefront.domain_due");
  if (domain.status === "active") return { data: { ...asItStands(domain), checks: [] } };
  const checks = await checkRecords(domain.dns_records);
  const complete = isComplete(checks);
  const result = await db.call("storefront.domain_checked", {
    id: domain.id,
    complete,
    holder_gone: await holderGone(domain, complete),
  });
  return {
    data: {
      ...result,
      checks: checks.map((check) => ({
        ...check,
        reason: check.reason && translate(context.language(), check.reason, { ...check }),
      })),
    },
  };
}

/** The same by the clock. A resolver that is away is asked again at the next round. */
export async function verifyDomainLater(job: Job): Promise<void> {
  const id = String(job.payload.domain_id);
  const domain = await system<Domain | null>(
    "select storefront.domain_of_job($1::text::uuid) as answer",
    [id],
  );
  if (!domain) return;
  const found = isComplete(await checkRecords(domain.dns_records));
  const gone = await holderGone(domain, found);
  // Another market still proves the domain: this claim continues to wait.
  const complete = domain.holder && found && !gone ? false : found;
  await system<boolean>(
    `select storefront.domain_checked_by_job($1::text::uuid, $2::text::boolean, $3::text::uuid) as answer`,
    [id, complete === null ? null : String(complete), gone],
  );
}
