/** The list of collected cash: every filter by name and by column; a column filter wins over its field. */
import {
  atLeast,
  atMost,
  contains,
  days,
  defineList,
  exactly,
  type Filter,
  forField,
  foundBy,
  id,
  isSet,
  number,
  oneOf,
  since,
  sinceDay,
  someOf,
  until,
  untilDay,
} from "../../../shared/api/list.ts";
import { driverFilter, withDriverIdFilter } from "../driver-id-filter.ts";
import { statuses } from "./schemas.ts";

const range = (field: string): Record<string, Filter> => ({
  [`${field}_min`]: forField(field, atLeast(field)),
  [`${field}_max`]: forField(field, atMost(field)),
});

const between = (field: string): Record<string, Filter> => ({
  [`${field}_from`]: forField(field, since(field)),
  [`${field}_to`]: forField(field, until(field)),
});

/** A parcel by its own number or that of one of its legs. */
const ofCode: Filter = {
  ...exactly("delivery_code"),
  condition: (value, once) =>
    `r.id in (select s.id from ${once(`money.cod_of_code(${value} #>> '{}')`)} s)`,
};
const code = number("delivery_code");
const codes: Filter = {
  ...code,
  condition: (value, once) =>
    `case when jsonb_typeof(${value}) = 'object' then ${code.condition(value, once)}
      else ${ofCode.condition(value, once)} end`,
};

/** A parcel by its own id or that of one of its legs. */
const ofDelivery: Filter = {
  ...id("delivery_id"),
  condition: (value) =>
    `r.delivery_id in ((${value} #>> '{}')::uuid, (select d.parent_id from delivery.deliveries d
      where d.tenant_id = (select app.tenant_id()) and d.id = (${value} #>> '{}')::uuid))`,
};

/** Rows of the deliveries of an owner, as wallets name them; those of a store's orders are the company's own. */
const ofOwner = (condition: (value: string) => string): Filter => ({
  ...id("delivery_id"),
  condition: (value) =>
    `exists (select from delivery.deliveries d where d.tenant_id = (select app.tenant_id()) and d.id = r.delivery_id
      and ${condition(`(${value} #>> '{}')`)})`,
});

const ownerTypes = ["institution", "customer", "tenant"] as const;

const declared = defineList({
  view: "money.cod_collections_list",
  changes: "money.cod_collections",
  sort: [
    "collected_at",
    "delivery_code",
    "amount",
    "status",
    "remitted_at",
    "settled_at",
    "customer_name",
    "driver_name",
  ],
  params: {
    search: foundBy("money.cod_found"),
    status: someOf("status", statuses),
    driver_id: driverFilter("money.cod_driver_filter"),
    delivery_id: ofDelivery,
    delivery_code: ofCode,
    owner_type: {
      ...ofOwner((type) =>
        `case when d.order_id is not null then 'tenant' when d.institution_user_id is not null then 'institution'
          when d.customer_id is not null then 'customer' end = ${type}`
      ),
      schema: oneOf("owner_type", [...ownerTypes]).schema,
    },
    owner_id: ofOwner((owner) =>
      `d.order_id is null and coalesce(d.institution_user_id, d.customer_id) = ${owner}::uuid`
    ),
    ...range("amount"),
    ...range("cod_amount"),
    ...range("delivery_fee_amount"),
    collected_at_from: forField("collected_at", sinceDay("collected_at")),
    from_date: forField("collected_at", sinceDay("collected_at")),
    collected_at_to: forField("collected_at", untilDay("collected_at")),
    to_date: forField("collected_at", untilDay("collected_at")),
    ...between("remitted_at"),
    ...between("settled_at"),
    reversed: {
      ...isSet("reversed_at", "set"),
      unasked: {
        condition: "r.reversed_at is null",
        kept: `'{"reversed_at": null}'::jsonb`,
      },
    },
  },
  columns: {
    customer_name: contains("customer_name"),
    receiver_name: contains("receiver_name"),
    driver_name: contains("driver_name"),
    delivery_address: contains("delivery_address"),
    external_reference_id: contains("external_reference_id"),
    status: someOf("status", statuses),
    delivery_code: codes,
    amount: number("amount"),
    cod_amount: number("cod_amount"),
    delivery_fee_amount: number("delivery_fee_amount"),
    collected_at: days("collected_at"),
    remitted_at: days("remitted_at"),
    settled_at: days("settled_at"),
  },
  columnsWin: true,
  readBy: "collected_at",
  limit: { default: 20, max: 100 },
  tally: { name: "cod_collections", filters: ["status", "driver_id"] },
  summary: {
    // Each sum has a status of its own, so the filter by status narrows none of them.
    ignores: ["status"],
    sql: (rows, { wanted }) => {
      const counted = `(select jsonb_build_object(
        'total_collected', coalesce(sum(r.amount) filter (where r.status = 'collected'), 0),
        'total_remitted', coalesce(sum(r.amount) filter (where r.status = 'remitted'), 0),
        'total_settled_by_wallet', coalesce(sum(r.amount) filter (where r.status = 'settled_by_wallet'), 0),
        'total_pending', coalesce(sum(r.amount) filter (where r.status = 'collected'), 0),
        'total_cod_collections', count(*)) from ${rows})`;
      return wanted === null
        ? counted
        : `case when (select app.sees_tenant()) then money.cod_sums_from_tallies(${wanted}) else ${counted} end`;
    },
  },
});

export const collections = withDriverIdFilter(declared, "money.require_cod_driver_id");

/** A row without the columns that only filter and sort; `reversed_at` stands on reversed rows alone. */
export function shown(row: Record<string, unknown>): Record<string, unknown> {
  const { customer_name: _c, delivery_address: _a, driver_name: _d, reversed_at, ...collection } =
    row;
  return reversed_at === null ? collection : { ...collection, reversed_at };
}
