import {
  type AnyEndpoint,
  endpoint,
  messageKey,
  type Run,
  versionedBy,
} from "../../../shared/api/endpoint.ts";
import { type MessageKey, translate } from "../../../shared/i18n/index.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { canReviewMarkets, tenantAdmin } from "../access.ts";
import {
  CreateMarket,
  MarketChanged,
  MarketResponse,
  markets,
  MarketsResponse,
  OverviewResponse,
  PublishMarket,
  ReviewMarket,
  SubmitMarket,
  UpdateMarket,
} from "./schemas.ts";

/** Changes a market; the answer says so inside `data` as well, as the interface shows it. */
async function change(
  context: Pick<Run<undefined, undefined, undefined>, "db" | "language">,
  core: string,
  input: Record<string, unknown>,
  said: MessageKey | ((market: Record<string, unknown>) => MessageKey),
) {
  const market = await context.db.call(core, input);
  const key = typeof said === "string" ? said : said(market);
  return { data: { market, message: translate(context.language(), key) }, [messageKey]: key };
}

const wrongFields = [
  "invalid_directory_category",
  "invalid_payment_method",
  "market_currency_differs",
] as const;

/** The market of a tenant: its online store, from the draft to the open shop. */
export const market: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/market/create",
    summary: "Create the tenant's market as a draft",
    access: tenantAdmin,
    body: CreateMarket,
    response: MarketChanged,
    status: 201,
    errors: ["market_already_exists", "invalid_store_name", "store_name_taken", ...wrongFields],
    run: (context) => change(context, "storefront.market_create", context.body, "market_created"),
  }),
  endpoint({
    method: "get",
    path: "/market",
    version: versionedBy("storefront.markets"),
    summary: "The market with its readiness, its numbers and what happened last",
    access: tenantAdmin,
    response: OverviewResponse,
    errors: ["market_not_found"],
    async run({ db }) {
      const overview = await db.call("storefront.market_overview");
      return { data: overview, ...overview };
    },
  }),
  endpoint({
    method: "get",
    path: "/market/:market_id",
    summary: "Read a market",
    access: tenantAdmin,
    tenant: "optional",
    params: ids("market_id"),
    version: versionedBy("storefront.markets", "market_id"),
    response: MarketResponse,
    errors: ["market_not_found"],
    run: async ({ db, params }) => ({ market: await db.call("storefront.market_get", params) }),
  }),
  endpoint({
    method: "put",
    path: "/market",
    version: versionedBy("storefront.markets"),
    summary: "Change the market; an approved one stays open and is looked at again",
    access: tenantAdmin,
    body: UpdateMarket,
    response: MarketChanged,
    errors: ["market_not_found", "market_field_fixed", ...wrongFields],
    run: (context) => change(context, "storefront.market_update", context.body, "market_updated"),
  }),
  endpoint({
    method: "post",
    path: "/market/submit-for-approval",
    summary: "Hand the draft to the administrators of the system",
    access: tenantAdmin,
    body: SubmitMarket,
    response: MarketChanged,
    errors: [
      "market_not_found",
      "invalid_status_transition",
      "market_information_incomplete",
      "market_category_required",
    ],
    run: (context) => change(context, "storefront.market_submit", context.body, "market_submitted"),
  }),
  endpoint({
    method: "put",
    path: "/market/publish",
    version: versionedBy("storefront.markets"),
    summary: "Open or close the approved market",
    access: tenantAdmin,
    body: PublishMarket,
    response: MarketChanged,
    errors: ["market_not_found", "market_not_approved"],
    run: (context) =>
      change(
        context,
        "storefront.market_publish",
        context.body,
        `market_${context.body.publish_status}`,
      ),
  }),
  endpoint({
    method: "put",
    path: "/market/deactivate",
    version: versionedBy("storefront.markets"),
    summary: "Take the market out of use",
    access: tenantAdmin,
    response: MarketChanged,
    errors: ["market_not_found"],
    run: (context) => change(context, "storefront.market_deactivate", {}, "market_deactivated"),
  }),
  endpoint({
    method: "get",
    path: "/markets",
    summary: "Markets of all tenants: the queue of those who review them",
    access: canReviewMarkets,
    tenant: "none",
    query: markets.query,
    response: MarketsResponse,
    run: ({ db, query }) => markets.answer(db, query),
  }),
  endpoint({
    method: "put",
    path: "/market/:market_id/review",
    version: versionedBy("storefront.markets", "market_id"),
    summary: "Approve or reject a market that waits for it",
    access: canReviewMarkets,
    tenant: "none",
    params: ids("market_id"),
    body: ReviewMarket,
    response: MarketChanged,
    errors: ["market_not_found", "invalid_status_transition"],
    run: (context) =>
      change(
        context,
        "storefront.market_review",
        { ...context.body, ...context.params },
        `market_${context.body.decision}`,
      ),
  }),
];
