/** Verifying a domain: read what it needs, look it up, write down what was found. */
import { type Database, system } from "../../../shared/db.ts";
import { type Language, translate } from "../../../shared/i18n/index.ts";
import type { Job } from "../../../shared/jobs.ts";
import { checkRecords, type DnsRecord } from "./dns.ts";

interface Domain {
  id: string;
  custom_domain: string;
  status: "pending_dns" | "active";
  dns_records: DnsRecord[];
}

/** The answer of a look-up somebody asked for, with a reason for each record that is not there. */
export async function verifyDomain(context: { db: Database; language(): Language }) {
  const { db } = context;
  const domain = await db.call<Domain>("storefront.domain_due");
  const checks = domain.status === "active"
    ? []
    : await checkRecords(domain.custom_domain, domain.dns_records);
  const complete = checks.every(({ ok }) => ok);
  const result = await db.call("storefront.domain_checked", { id: domain.id, complete });
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

/** The same without anybody asking. A resolver that is away is asked again at the next round. */
export async function verifyDomainLater(job: Job): Promise<void> {
  const id = String(job.payload.domain_id);
  const domain = await system<Domain | null>(
    "select private.domain_of_job($1::text::uuid) as answer",
    [id],
  );
  if (!domain) return;
  const checks = await checkRecords(domain.custom_domain, domain.dns_records);
  await system<boolean>(
    "select private.domain_checked_by_job($1::text::uuid, $2::text::boolean) as answer",
    [id, String(checks.every(({ ok }) => ok))],
  );
}
