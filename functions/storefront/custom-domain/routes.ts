import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { tenantAdmin } from "../access.ts";
import { type DnsRecord, routing, wantedNow } from "./dns.ts";
import { isApex, recordNames } from "./domain-name.ts";
import {
  ConnectDomain,
  DomainConnected,
  DomainDisconnected,
  DomainResponse,
  DomainVerified,
} from "./schemas.ts";
import { type Holder, isGone, verifyDomain } from "./verify.ts";

interface Connected {
  custom_domain: { dns_records: DnsRecord[] } | null;
}

/** The market under a domain of its own. */
export const customDomain: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/custom-domain",
    summary: "The connected domain, pending or active",
    access: tenantAdmin,
    response: DomainResponse,
    message: { literal: "market_custom_domain_retrieved_successfully" },
    errors: ["market_not_found"],
    async run({ db }) {
      const { custom_domain: domain } = await db.call<Connected>("storefront.domain_get");
      const dns_records = domain?.dns_records.map(wantedNow);
      return { data: { custom_domain: domain && { ...domain, dns_records } } };
    },
  }),
  endpoint({
    method: "post",
    path: "/custom-domain/connect",
    summary: "Connect a domain; the answer names the DNS records it needs",
    access: tenantAdmin,
    body: ConnectDomain,
    response: DomainConnected,
    status: 201,
    message: { literal: "market_custom_domain_connected_successfully" },
    errors: [
      "invalid_custom_domain",
      "market_not_found",
      "custom_domain_taken",
      "custom_domain_already_connected",
    ],
    async run({ db, body: { custom_domain } }) {
      const { holder } = await db.withoutKey().call<{ holder: Holder | null }>(
        "storefront.domain_rival",
        { custom_domain },
      );
      const names = recordNames(custom_domain);
      return {
        data: await db.call("storefront.domain_connect", {
          custom_domain,
          routing: { ...names.routing, ...routing(isApex(custom_domain)) },
          ownership: names.ownership,
          made: { holder_gone: holder && await isGone(holder) ? holder.id : undefined },
        }),
      };
    },
  }),
  endpoint({
    method: "post",
    path: "/custom-domain/verify",
    summary: "Look the DNS records up now",
    access: tenantAdmin,
    response: DomainVerified,
    message: { literal: "market_custom_domain_verified_successfully" },
    // Twice is once by itself, and what a repeat wants to know is how things are now.
    idempotency: "handler",
    errors: ["market_not_found", "custom_domain_not_found", "custom_domain_taken"],
    run: verifyDomain,
  }),
  endpoint({
    method: "delete",
    path: "/custom-domain",
    summary: "Disconnect the domain",
    access: tenantAdmin,
    response: DomainDisconnected,
    message: { literal: "market_custom_domain_disconnected_successfully" },
    errors: ["market_not_found", "custom_domain_not_found"],
    run: async ({ db }) => ({ data: await db.call("storefront.domain_disconnect") }),
  }),
];
