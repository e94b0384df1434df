/** The rows of one person in a company, by their ids, and the names and streets that stand in them. */
import type postgres from "postgres";

type Tx = postgres.TransactionSql;
type Sets = Record<string, string[]>;

/**
 * The rows by which the others are found: what is erased no longer says it. `places` are the company's own addresses, also where the
 * person is their contact, and are nobody's. `before`: the sets of an erasure that was begun, of which none goes.
 */
export async function setsOf(
  tx: Tx,
  tenant: string,
  me: string | null,
  contact: string,
  before: Sets = {},
) {
  const ids = async (name: string, query: postgres.PendingQuery<postgres.Row[]>) => [
    ...new Set([...before[name] ?? [], ...(await query).map(({ id }) => id as string)]),
  ];
  const places = await ids(
    "places",
    tx`select a.id from delivery.addresses a
    where a.tenant_id = ${tenant} and coalesce(a.owner_user_id <> ${me}, true) and a.id in (
      select b.address_id from delivery.institution_branches b where b.tenant_id = ${tenant}
      union select w.address_id from warehousing.warehouses w where w.tenant_id = ${tenant}
      union select p.address_id from delivery.transfer_processing_points p where p.tenant_id = ${tenant}
      union select d.pickup_address_id from delivery.deliveries d where d.tenant_id = ${tenant} and d.pickup_warehouse_id is not null
      union select d.dropoff_address_id from delivery.deliveries d where d.tenant_id = ${tenant} and d.dropoff_warehouse_id is not null
      union select d.ordered_from_address_id from delivery.deliveries d
        where d.tenant_id = ${tenant} and d.ordered_from_warehouse_id is not null)`,
  );
  const orders = await ids(
    "orders",
    tx`select o.id from storefront.storefront_orders o
    where o.tenant_id = ${tenant} and (o.user_id = ${me} or o.shipping_address::text ~* ${contact})`,
  );
  // A branch or warehouse whose contact the person is gets its parcels under their number.
  const isRecipient =
    tx`d.recipient::text ~* ${contact} and not (d.dropoff_address_id = any (${places})
      and (coalesce(d.dropoff_snapshot -> 'contact_info' #>> '{}' ~* ${contact}, false) or exists (select from delivery.institution_branches b
        where b.tenant_id = ${tenant} and b.address_id = d.dropoff_address_id and b.contact_info::text ~* ${contact})))`;
  const received = await ids(
    "received",
    tx`with recursive mine (id) as (
      select d.id from delivery.deliveries d where d.tenant_id = ${tenant} and d.delivery_flow <> 'customer_return'
        and (d.order_id = any (${orders}) or ${isRecipient})
      union select d.id from mine m join delivery.deliveries d on d.tenant_id = ${tenant} and d.parent_id = m.id)
    select m.id from mine m`,
  );
  const deliveries = await ids(
    "deliveries",
    tx`select d.id from delivery.deliveries d where d.tenant_id = ${tenant}
    and (d.customer_id = ${me} or d.institution_user_id = ${me} or d.original_delivery_id = any (${received}) or ${isRecipient}
      or concat_ws(' ', case when d.pickup_address_id <> all (${places}) then d.pickup_snapshot end,
        case when d.dropoff_address_id <> all (${places}) then d.dropoff_snapshot end,
        case when d.ordered_from_address_id <> all (${places}) then d.ordered_from_snapshot end,
        d.source_snapshot #- '{source,address}' #- '{source,branch}') ~* ${contact})`,
  );
  const addresses = await ids(
    "addresses",
    tx`select a.id from delivery.addresses a
    where a.tenant_id = ${tenant} and a.id <> all (${places}) and (a.owner_user_id = ${me} or a.contact_info::text ~* ${contact}
      or (a.id in (select d.dropoff_address_id from delivery.deliveries d where d.id = any (${received})
            union select (l.before ->> 'dropoff_address_id')::uuid from app.audit_log l where l.tenant_id = ${tenant}
              and l.entity = 'delivery.deliveries' and l.entity_id = any (${received}::text[]))
          or a.id in (select o.address_id from storefront.storefront_orders o where o.id = any (${orders})))
        and not exists (select from storefront.customer_addresses c where c.tenant_id = ${tenant} and c.address_id = a.id)
        and not exists (select from storefront.storefront_orders o where o.tenant_id = ${tenant} and o.address_id = a.id
          and o.id <> all (${orders}))
        and not exists (select from delivery.deliveries d where d.tenant_id = ${tenant} and a.id in (d.dropoff_address_id, d.pickup_address_id)
          and d.id <> all (${[...received, ...deliveries]})))`,
  );
  // Parcels that they gave to a driver at their door, or give back.
  const given = await ids(
    "given",
    tx`select d.id from delivery.deliveries d
    cross join lateral (select coalesce(d.ordered_from_address_id, d.pickup_address_id) as address_id,
      coalesce(d.ordered_from_snapshot, d.pickup_snapshot) -> 'contact_info' #>> '{}' as contact) p
    where d.tenant_id = ${tenant} and (d.delivery_flow = 'customer_return' and d.original_delivery_id = any (${received})
      or p.address_id <> all (${places}) and (p.address_id = any (${addresses}) or p.contact ~* ${contact}))`,
  );
  const manifests = await ids(
    "manifests",
    tx`select m.id from delivery.transfer_manifests m
    where m.tenant_id = ${tenant} and (m.institution_user_id = ${me} or m.driver_id = ${me})`,
  );
  const items = await ids(
    "items",
    tx`select i.id from delivery.transfer_manifest_items i
    where i.tenant_id = ${tenant} and i.delivery_id = any (${received})`,
  );
  const invitations = await ids(
    "invitations",
    tx`select i.id from tenancy.invitations i
    where i.tenant_id = ${tenant} and (i.account_id = ${me} or i.email ~* ${contact})`,
  );
  const subscriptions = await ids(
    "subscriptions",
    tx`select s.id from integration.webhook_subscriptions s
    where s.tenant_id = ${tenant} and s.owner_user_id = ${me}`,
  );
  const sent = await ids(
    "sent",
    tx`select e.id from integration.webhook_events e
    where e.tenant_id = ${tenant} and e.subscription_id = any (${subscriptions})`,
  );
  return {
    places,
    orders,
    received,
    deliveries,
    addresses,
    given,
    manifests,
    items,
    invitations,
    subscriptions,
    sent,
  } as Sets;
}

/** Names, streets and further contacts that stand in those rows; of the company's places the name of the contact alone. */
export async function namesOf(
  tx: Tx,
  tenant: string,
  { places, orders, received, deliveries, addresses, invitations, person }: Sets,
  contact: string,
): Promise<string[]> {
  const found = await tx`
    with ends (doc, is_theirs) as (
      select p.doc, p.address_id <> all (${places!}) from delivery.deliveries d
        cross join lateral (values (d.pickup_snapshot, d.pickup_address_id), (d.dropoff_snapshot, d.dropoff_address_id),
          (d.ordered_from_snapshot, d.ordered_from_address_id)) p (doc, address_id)
        where d.id = any (${deliveries!}) and p.doc -> 'contact_info' #>> '{}' ~* ${contact}
    ), place (doc) as (
      select d.dropoff_snapshot from delivery.deliveries d where d.id = any (${received!}) and d.dropoff_address_id <> all (${places!})
      union all select e.doc from ends e where e.is_theirs
      union all select o.shipping_address from storefront.storefront_orders o where o.id = any (${orders!})
      union all select to_jsonb(a) from delivery.addresses a where a.id = any (${addresses!})
      union all select l.before -> 'dropoff_snapshot' from app.audit_log l where l.tenant_id = ${tenant}
        and l.entity = 'delivery.deliveries' and l.entity_id = any (${received!}::text[]) and l.before ->> 'dropoff_warehouse_id' is null
        and coalesce(l.before #>> '{dropoff_snapshot,id}', '') <> all (${places!}::text[])
        and coalesce(l.before -> 'recipient' #>> '{}' ~* ${contact}, true)
      union all select l.before from app.audit_log l where l.tenant_id = ${tenant}
        and l.entity = 'delivery.addresses' and l.entity_id = any (${addresses!}::text[])
    ), person (doc) as (
      select d.recipient from delivery.deliveries d where d.id = any (${received!})
      union all select p.doc -> 'contact_info' from place p
      union all select e.doc -> 'contact_info' from ends e
      union all select a.contact_info from delivery.addresses a where a.id = any (${places!}) and a.contact_info::text ~* ${contact}
      union all select l.before -> 'contact_info' from app.audit_log l where l.tenant_id = ${tenant} and l.entity = 'delivery.addresses'
        and l.entity_id = any (${places!}::text[]) and l.before -> 'contact_info' #>> '{}' ~* ${contact}
      union all select l.before -> 'recipient' from app.audit_log l where l.tenant_id = ${tenant} and l.entity = 'delivery.deliveries'
        and l.entity_id = any (${deliveries!}::text[]) and l.before -> 'recipient' #>> '{}' ~* ${contact}
      union all select jsonb_build_object('name', l.before -> 'full_name') from app.audit_log l
        where l.entity = 'tenancy.profiles' and l.entity_id = any (${person!}::text[])
      union all select i.person from tenancy.invitations i where i.id = any (${invitations!})
    )
    select p.doc ->> 'full_address' as text from place p
    union select f.value #>> '{}' from person p
      cross join lateral jsonb_each(case jsonb_typeof(p.doc) when 'object' then p.doc else '{}' end) f
      where jsonb_typeof(f.value) = 'string' and (f.key ~ 'name' or f.value #>> '{}' ~ '@|([0-9][ ().-]*){7}')
        and f.key <> 'avatar_url'`;
  const cities = await tx`select distinct lower(c.name) as name from delivery.addresses a
    cross join lateral (values (a.city), (a.country)) c (name) where a.tenant_id = ${tenant} and c.name is not null`;
  const shared = new Set(cities.map(({ name }) => name));
  return found.map(({ text }) => text as string | null).filter((text) => text !== null)
    .filter((text) => !shared.has(text.toLowerCase()));
}

/** The names of branches and warehouses whose contact the person is, but for those that are the person's own. */
export async function namesOfPlaces(
  tx: Tx,
  { places }: Sets,
  contact: string,
  texts: string,
): Promise<string[]> {
  const found = await tx`select p.name from delivery.addresses a
    join (select b.address_id, b.name, b.contact_info from delivery.institution_branches b
      union all select w.address_id, w.name, '{}' from warehousing.warehouses w) p on p.address_id = a.id
    where a.id = any (${places!}) and concat_ws(' ', a.contact_info, p.contact_info) ~* ${contact} and p.name !~* ${texts}`;
  return found.map(({ name }) => name as string);
}
