import { z } from "zod";
import { defineList, equal, flag, oneOf, words } from "../../../shared/api/list.ts";
import {
  Currency,
  Id,
  JsonObject,
  LocalizedText,
  LongText,
  orEmpty,
  Pagination,
  Timestamp,
  WebUrl,
} from "../../../shared/schemas/schemas.ts";
import {
  maxBytes,
  maxContactBytes,
  maxDocumentBytes,
  maxMetadataBytes,
} from "../../../shared/schemas/sizes.ts";
import { OptionalText, Position, StoredLocalizedText } from "../schemas.ts";

export const marketStatuses = [
  "draft",
  "pending_approval",
  "approved",
  "rejected",
  "inactive",
] as const;
const PublishStatus = z.enum(["published", "unpublished"]);

const StoreName = z.string().trim().regex(/^[A-Za-z0-9_-]{1,64}$/, { error: "invalid_store_name" });

/** A key as the directory has it: `Home Garden` is `home_garden`. */
const DirectoryCategory = z.string().trim().min(1).max(64).transform((key) =>
  key.toLowerCase().replace(/\s+/g, "_")
);

const Word = z.string().trim().min(1).max(64);

/** Codes or types of payment methods: a list of those that are on, or an object that says which are. */
const PaymentMethods = z.union([
  z.array(Word).max(50),
  z.record(Word, z.union([z.boolean(), z.looseObject({ enabled: z.boolean() })])),
]);

const Settings = maxBytes(
  maxMetadataBytes,
  z.looseObject({
    auto_create_delivery: z.boolean().nullish(),
    currency: Currency.nullish(),
    payment_methods: PaymentMethods.nullish(),
  }),
);

const ThemeSettings = maxBytes(
  maxMetadataBytes,
  z.looseObject({
    primary_color: Word.nullish(),
    secondary_color: Word.nullish(),
    accent_color: Word.nullish(),
    theme_style: Word.nullish(),
  }),
);

const Banner = z.object({
  id: z.string().trim().min(1).max(64).optional().describe("The client's own, or one it was given"),
  url: WebUrl,
  title: LocalizedText,
  subtitle: OptionalText.optional(),
  link_url: orEmpty(z.union([WebUrl, z.string().regex(/^\/(?!\/)/).max(2_000)])).nullish().describe(
    "A whole address, or a path of the store itself",
  ),
  is_active: z.boolean().optional(),
  sort_order: Position.optional(),
}).meta({ id: "MarketBanner" });

/** A line below the name; a plain text is an English one. */
const Tagline = maxBytes(maxContactBytes, OptionalText);

const Fields = z.object({
  directory_category: DirectoryCategory.optional(),
  tagline: Tagline.optional(),
  settings: Settings.optional(),
  logo_url: orEmpty(WebUrl).nullish(),
  theme_settings: ThemeSettings.optional(),
  banners: maxBytes(maxDocumentBytes, z.array(Banner).max(20)).optional(),
});

export const CreateMarket = Fields.extend({ store_name: StoreName }).meta({ id: "CreateMarket" });

/** The two that cannot change may be sent back as they are, since clients send whole forms. */
export const UpdateMarket = Fields.extend({
  store_name: z.string().max(200).optional(),
  status: z.string().max(200).optional(),
}).meta({ id: "UpdateMarket" });

export const SubmitMarket = z.object({ notes: LongText.nullish() }).meta({ id: "SubmitMarket" });
export const PublishMarket = z.object({ publish_status: PublishStatus }).meta({
  id: "PublishMarket",
});
export const ReviewMarket = z.object({
  decision: z.enum(["approved", "rejected"]),
  admin_notes: LongText.nullish(),
}).meta({ id: "ReviewMarket" });

export const Market = z.object({
  id: Id,
  tenant_id: Id,
  code: z.int(),
  directory_category: z.string(),
  store_name: z.string(),
  status: z.enum(marketStatuses),
  publish_status: PublishStatus,
  needs_reapproval: z.boolean(),
  tagline: StoredLocalizedText,
  logo_url: z.string().nullable(),
  settings: JsonObject,
  theme_settings: JsonObject,
  banners: z.array(JsonObject),
  submit_notes: z.string().nullable(),
  submitted_at: Timestamp.nullable(),
  approved_by: Id.nullable(),
  approved_at: Timestamp.nullable(),
  admin_notes: z.string().nullable(),
  created_by: Id.nullable(),
  updated_by: Id.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  is_live: z.boolean(),
  is_active: z.boolean(),
}).meta({ id: "Market" });

export const MarketResponse = z.object({ market: Market });
export const MarketChanged = z.object({ data: z.object({ market: Market, message: z.string() }) });

const Overview = z.object({
  market: Market,
  readiness: z.object({
    warehouse_created: z.boolean(),
    store_live: z.boolean(),
    payments_enabled: z.boolean(),
    delivery_configured: z.boolean(),
    products_added: z.boolean(),
    categories_added: z.boolean(),
    domain_connected: z.boolean(),
  }),
  summary: z.object({
    total_products: z.int(),
    total_categories: z.int(),
    total_customers: z.int(),
    total_orders: z.int(),
  }),
  recent_activity: z.array(z.object({
    type: z.enum(["order", "product", "review"]),
    title: z.string(),
    subtitle: z.string().nullable(),
    timestamp: Timestamp,
  })).max(5),
}).meta({ id: "MarketOverview" });
/** Everything twice: under `data` as the writes have it, and beside it. */
export const OverviewResponse = Overview.extend({ data: Overview });

export const MarketsResponse = z.object({
  data: z.array(
    Market.omit({ settings: true, theme_settings: true, banners: true }).extend({
      tenant: z.object({ id: Id, name: JsonObject.nullable(), slug: z.string().nullable() }),
    }),
  ),
  pagination: Pagination,
});

export const markets = defineList({
  view: "storefront.markets_list",
  hidden: ["settings", "theme_settings", "banners"],
  search: ["store_name"],
  sort: ["created_at", "updated_at", "submitted_at", "store_name", "status"],
  params: {
    status: oneOf("status", marketStatuses),
    needs_reapproval: flag("needs_reapproval"),
    publish_status: oneOf("publish_status", words(PublishStatus)),
    directory_category: equal("directory_category"),
  },
  limit: { default: 20, max: 100 },
});
