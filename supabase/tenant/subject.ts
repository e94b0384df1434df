/** The person that an erasure or a disclosure is about, as one company knows them: their rows, and what they are called there. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { anyOf, emailPattern, phonePattern, wordsPattern } from "./contacts.ts";
import { referencesToPeople } from "./people.ts";
import { quoted } from "./tables.ts";

/** The person as the command line names them: an account by its id or e-mail, or somebody without one. */
export interface Asked {
  person?: string;
  phone?: string;
  email?: string;
}

export interface Subject {
  asked: Asked;
  tenant: string;
  /** The account, if there is one. */
  person?: string;
  /** Ids of rows that are the person's, by what they are. `account` is empty where the account stays. */
  sets: Record<string, string[]>;
  /** Regular expressions: telephone and e-mail; and those with names and streets. */
  contact: string;
  texts: string;
  /** The text in place of a name. */
  word: string;
}

/** One word in the language of the company, since a name has one language too. */
const words: Record<string, string> = { en: "Erased", ar: "محذوف", ku: "سڕاوەتەوە" };

type Tx = postgres.TransactionSql;

export async function tenantOf(tx: Tx, slug: string): Promise<string> {
  const [tenant] = await tx`select t.id from tenancy.tenants t where t.slug = ${slug}`;
  if (!tenant) throw new Failure(`This project has no company "${slug}".`);
  return tenant.id;
}

/** Finds the person in the company. Fails when they are no member, or when a member has the contact. */
export async function subjectOf(tx: Tx, tenant: string, asked: Asked): Promise<Subject> {
  const profile = await profileOf(tx, tenant, asked);
  const phones = [asked.phone, profile?.phone].filter((one) => one);
  const emails = [asked.email, profile?.email].filter((one) => one);
  const patterns = [
    ...phones.map((one) => phonePattern(one) ?? (one === asked.phone ? tooShort(one) : undefined)),
    ...emails.map(emailPattern),
  ].filter((one) => one !== undefined);
  const contact = anyOf(patterns);
  if (!profile) await refuseMembers(tx, tenant, contact);
  const me = profile?.id ?? null;
  const sets = await setsOf(tx, tenant, me, contact);
  sets.person = me ? [me] : [];
  sets.account = me && !await isOfOthers(tx, tenant, me) ? [me] : [];
  const names = [profile?.full_name, ...await namesOf(tx, tenant, sets, contact)]
    .filter((one) => one && one.length > 2);
  const [language] = await tx`select s.settings ->> 'default' as code from tenancy.tenant_settings s
    where s.tenant_id = ${tenant} and s.module = 'general' and s.group_key = 'language'`;
  const word = words[language?.code ?? "en"] ?? words.en!;
  return {
    ...{ asked, tenant, sets, contact, word },
    ...(me && { person: me }),
    texts: anyOf([
      ...patterns,
      ...names.filter((one) => one !== word).map(wordsPattern),
    ]),
  };
}

const tooShort = (number: string) => {
  throw new Failure(`"${number}" has too few digits to be the number of one person.`);
};

async function profileOf(tx: Tx, tenant: string, { person }: Asked) {
  if (!person) return undefined;
  const [profile] = await tx`select p.id, p.full_name, p.phone, p.email,
      exists (select from tenancy.system_users s where s.user_id = p.id) as manages
    from tenancy.profiles p
    join tenancy.tenant_users u on u.user_id = p.id and u.tenant_id = ${tenant}
    where p.id::text = ${person.toLowerCase()} or lower(p.email) = ${person.toLowerCase()}`;
  if (!profile) throw new Failure(`The company has no member "${person}".`);
  if (profile.manages) {
    throw new Failure("They manage the system: take that from them first (tenancy.system_users).");
  }
  return profile;
}

async function refuseMembers(tx: Tx, tenant: string, contact: string): Promise<void> {
  const members = await tx`select p.id from tenancy.profiles p
    join tenancy.tenant_users u on u.user_id = p.id and u.tenant_id = ${tenant}
    where concat_ws(' ', p.phone, p.email) ~* ${contact}`;
  if (members.length > 0) {
    const ids = members.map(({ id }) => id).join(", ");
    throw new Failure(`Members of the company have this contact: --person <id> for ${ids}.`);
  }
}

/** True when a row of another company names the account: it stays, with its profile. */
async function isOfOthers(tx: Tx, tenant: string, me: string): Promise<boolean> {
  for (const { table, column, is_tenants } of await referencesToPeople(tx)) {
    const owner = table === "tenancy.tenants" ? "id" : is_tenants ? "tenant_id" : undefined;
    // Which company somebody's next token names is not whose they are.
    if (!owner || table === "tenancy.active_tenants") continue;
    const [found] = await tx.unsafe(
      `select exists (select from ${quoted(table)} t where t.${
        quoted(column)
      } = $1 and t.${owner} <> $2) as here`,
      [me, tenant],
    );
    if (found!.here) return true;
  }
  return false;
}

/** The rows by which the others are found: what is erased no longer says it. */
async function setsOf(tx: Tx, tenant: string, me: string | null, contact: string) {
  const ids = async (query: postgres.PendingQuery<postgres.Row[]>) =>
    (await query).map(({ id }) => id as string);
  const orders = await ids(tx`select o.id from storefront.storefront_orders o
    where o.tenant_id = ${tenant} and (o.user_id = ${me} or o.shipping_address::text ~* ${contact})`);
  const received = await ids(tx`with recursive mine (id) as (
      select d.id from delivery.deliveries d where d.tenant_id = ${tenant} and d.delivery_flow <> 'customer_return'
        and (d.recipient::text ~* ${contact} or d.order_id = any (${orders}))
      union select d.id from mine m join delivery.deliveries d on d.tenant_id = ${tenant} and d.parent_id = m.id)
    select m.id from mine m`);
  const deliveries = await ids(
    tx`select d.id from delivery.deliveries d where d.tenant_id = ${tenant}
    and (d.customer_id = ${me} or d.institution_user_id = ${me} or d.original_delivery_id = any (${received})
      or concat_ws(' ', d.pickup_snapshot, d.dropoff_snapshot, d.ordered_from_snapshot, d.source_snapshot, d.recipient) ~* ${contact})`,
  );
  const addresses = await ids(tx`select a.id from delivery.addresses a
    where a.tenant_id = ${tenant} and (a.owner_user_id = ${me} or a.contact_info::text ~* ${contact}
      or (a.id in (select d.dropoff_address_id from delivery.deliveries d where d.id = any (${received})
            union select (l.before ->> 'dropoff_address_id')::uuid from app.audit_log l where l.tenant_id = ${tenant}
              and l.entity = 'delivery.deliveries' and l.entity_id = any (${received}::text[]))
          or a.id in (select o.address_id from storefront.storefront_orders o where o.id = any (${orders})))
        and not exists (select from delivery.institution_branches b where b.tenant_id = ${tenant} and b.address_id = a.id)
        and not exists (select from warehousing.warehouses w where w.tenant_id = ${tenant} and w.address_id = a.id)
        and not exists (select from delivery.transfer_processing_points p where p.tenant_id = ${tenant} and p.address_id = a.id)
        and not exists (select from storefront.customer_addresses c where c.tenant_id = ${tenant} and c.address_id = a.id)
        and not exists (select from storefront.storefront_orders o where o.tenant_id = ${tenant} and o.address_id = a.id
          and o.id <> all (${orders}))
        and not exists (select from delivery.deliveries d where d.tenant_id = ${tenant} and a.id in (d.dropoff_address_id, d.pickup_address_id)
          and d.id <> all (${[...received, ...deliveries]})))`);
  const manifests = await ids(tx`select m.id from delivery.transfer_manifests m
    where m.tenant_id = ${tenant} and (m.institution_user_id = ${me} or m.driver_id = ${me})`);
  const items = await ids(tx`select i.id from delivery.transfer_manifest_items i
    where i.tenant_id = ${tenant} and i.delivery_id = any (${received})`);
  const invitations = await ids(tx`select i.id from tenancy.invitations i
    where i.tenant_id = ${tenant} and (i.account_id = ${me} or i.email ~* ${contact})`);
  const subscriptions = await ids(tx`select s.id from integration.webhook_subscriptions s
    where s.tenant_id = ${tenant} and s.owner_user_id = ${me}`);
  const sent = await ids(tx`select e.id from integration.webhook_events e
    where e.tenant_id = ${tenant} and e.subscription_id = any (${subscriptions})`);
  return {
    orders,
    received,
    deliveries,
    addresses,
    manifests,
    items,
    invitations,
    subscriptions,
    sent,
  } as Record<string, string[]>;
}

/** Names, streets and further contacts that stand in those rows. */
async function namesOf(
  tx: Tx,
  tenant: string,
  { orders, received, deliveries, addresses, invitations, person }: Record<string, string[]>,
  contact: string,
): Promise<string[]> {
  const found = await tx`
    with place (doc) as (
      select d.dropoff_snapshot from delivery.deliveries d where d.id = any (${received!}) and d.dropoff_warehouse_id is null
      union all select p.doc from delivery.deliveries d
        cross join lateral (values (d.pickup_snapshot), (d.dropoff_snapshot), (d.ordered_from_snapshot)) p (doc)
        where d.id = any (${deliveries!}) and p.doc -> 'contact_info' #>> '{}' ~* ${contact}
      union all select o.shipping_address from storefront.storefront_orders o where o.id = any (${orders!})
      union all select to_jsonb(a) from delivery.addresses a where a.id = any (${addresses!})
      union all select l.before -> 'dropoff_snapshot' from app.audit_log l where l.tenant_id = ${tenant}
        and l.entity = 'delivery.deliveries' and l.entity_id = any (${received!}::text[]) and l.before ->> 'dropoff_warehouse_id' is null
        and coalesce(l.before -> 'recipient' #>> '{}' ~* ${contact}, true)
      union all select l.before from app.audit_log l where l.tenant_id = ${tenant}
        and l.entity = 'delivery.addresses' and l.entity_id = any (${addresses!}::text[])
    ), person (doc) as (
      select d.recipient from delivery.deliveries d where d.id = any (${received!})
      union all select p.doc -> 'contact_info' from place p
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
