/** Fresh tenants with people in every role, so that tests never meet and prove separation all day. */
import { randomUUID } from "node:crypto";
import { Person, signedIn } from "./api.ts";
import { sql } from "./db.ts";

const cast = {
  admin: ["staff", "tenant_admin"],
  ops: ["staff", "operations_manager"],
  dispatcher: ["staff", "dispatcher"],
  warehouse: ["staff", "warehouse_manager"],
  staff: ["staff", "warehouse_staff"],
  driver: ["driver", "driver"],
  driver2: ["driver", "driver"],
  institution: ["institution", "institution"],
  institution2: ["institution", "institution"],
  customer: ["customer", "customer"],
} as const;

export type Part = keyof typeof cast;
export type Tenant = { [part in Part]: Person } & { id: string };

export interface TenantOptions {
  /** Settings by module.group, over the defaults (transfer manifests on, no proof needed, IQD). */
  settings?: Record<string, Record<string, unknown>>;
}

/** A new tenant with everybody in it. */
export async function newTenant(options: TenantOptions = {}): Promise<Tenant> {
  const id = randomUUID();
  const settings = {
    "delivery.transfer_manifest": {
      enabled: true,
      reasons: [{ value: "damaged", label: "Damaged", description: "" }],
    },
    "general.currency": { currency_code: "IQD" },
    "general.unit_size": { missing_unit_size_fallback: "service_min" },
    ...options.settings,
  };
  const people = Object.entries(cast).map(([part, [type, role]]) => ({
    part,
    type,
    role,
    id: randomUUID(),
  }));
  await sql.begin(async (tx) => {
    await tx`insert into tenancy.tenants (id, name, slug, status) values (${id}, ${
      tx.json({ en: "Tenant" })
    }, ${"t-" + id}, 'active')`;
    await addPeople(tx, id, people);
    await tx`insert into tenancy.tenant_settings ${
      tx(
        Object.entries(settings).map(([key, value]) => {
          const [module, group_key] = key.split(".");
          return { tenant_id: id, module, group_key, settings: tx.json(value as never) };
        }) as never,
      )
    }`;
  });
  return {
    id,
    ...Object.fromEntries(people.map((person) => [person.part, signedIn(person.id, id)])),
  } as Tenant;
}

/** One more person in a tenant. */
export async function newPerson(tenantId: string, type: string, role: string): Promise<Person> {
  const id = randomUUID();
  await sql.begin((tx) => addPeople(tx, tenantId, [{ part: role, type, role, id }]));
  return signedIn(id, tenantId);
}

/** A system administrator, member of no tenant. */
export async function newSystemAdmin(): Promise<Person> {
  const id = randomUUID();
  await sql`insert into auth.users (id, email) values (${id}, ${id + "@barid.test"})`;
  await sql`insert into tenancy.profiles (id, full_name, email) values (${id}, 'System', ${
    id + "@barid.test"
  }) on conflict (id) do update set full_name = excluded.full_name`;
  await sql`insert into tenancy.system_users (user_id, role) values (${id}, 'system_admin')`;
  return signedIn(id, null);
}

/** Changes a settings group of a tenant (merges at the top). */
export async function saveSettings(
  tenantId: string,
  key: string,
  value: Record<string, unknown>,
): Promise<void> {
  const [module, group] = key.split(".");
  await sql`insert into tenancy.tenant_settings (tenant_id, module, group_key, settings)
    values (${tenantId}, ${module}, ${group}, ${sql.json(value as never)})
    on conflict (tenant_id, module, group_key) do update set settings = tenant_settings.settings || excluded.settings`;
}

type Tx = Parameters<Parameters<typeof sql.begin>[1]>[0];

async function addPeople(
  tx: Tx,
  tenantId: string,
  people: { part: string; type: string; role: string; id: string }[],
) {
  const rows = people.map((person) => ({
    id: person.id,
    email: `${person.part}-${person.id.slice(0, 8)}@barid.test`,
    full_name: `${person.part} ${person.id.slice(0, 4)}`,
    phone: "+964770" + person.id.replace(/\D/g, "").padEnd(7, "0").slice(0, 7),
  }));
  await tx`insert into auth.users ${tx(rows.map(({ id, email }) => ({ id, email })))}`;
  // Where Auth makes the profile by itself, it is completed here.
  await tx`insert into tenancy.profiles ${tx(rows)}
    on conflict (id) do update set full_name = excluded.full_name, phone = excluded.phone, email = excluded.email`;
  await tx`insert into tenancy.tenant_users ${
    tx(
      people.map((person) => ({
        tenant_id: tenantId,
        user_id: person.id,
        tenant_user_type: person.type,
        is_business: person.part === "customer",
      })),
    )
  }`;
  await tx`insert into tenancy.tenant_user_roles ${
    tx(people.map((person) => ({ tenant_id: tenantId, user_id: person.id, role_key: person.role })))
  }`;
}
