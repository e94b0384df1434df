/** Collected cash for tests, with the journals that a pick-up or a completion books. */
import { randomUUID } from "node:crypto";
import { sql } from "./db.ts";
import { newAddress } from "./make.ts";
import { newService } from "./money.ts";
import type { Tenant } from "./people.ts";
import { cashOf } from "./reconciled.ts";

let code = 300_000_000 + Date.now() % 50_000_000;

export interface CashOptions {
  driver?: string;
  cod?: number;
  fee?: number;
  customerName?: string;
  address?: string;
  externalReference?: string;
  collectedAt?: string;
  currency?: string;
  /** The rule of `delivery.payouts` under which its COD is held; none unless said. */
  release?: "on_remit" | "on_bank";
}

/** Makes these people drivers, once. */
export async function makeDrivers(tenant: Tenant, ...people: { id: string }[]): Promise<void> {
  for (const { id } of people.length ? people : [tenant.driver, tenant.driver2]) {
    await sql`insert into delivery.drivers (tenant_id, user_id) values (${tenant.id}, ${id}) on conflict do nothing`;
  }
}

const places = new Map<string, Promise<{ address: string; service: string }>>();

/** Cash that a driver took for a delivered order: 1,000 COD and 250 fee unless said. */
export async function newCash(
  tenant: Tenant,
  options: CashOptions = {},
): Promise<{ id: string; delivery: string; code: number }> {
  const { cod = 1000, fee = 250, currency = "IQD" } = options;
  const driver = options.driver ?? tenant.driver.id;
  if (!places.has(tenant.id)) {
    places.set(
      tenant.id,
      (async () => {
        await makeDrivers(tenant);
        return { address: await newAddress(tenant), service: await newService(tenant) };
      })(),
    );
  }
  const { address, service } = await places.get(tenant.id)!;
  const delivery_code = ++code;
  const id = randomUUID();
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const place = tx.json({ full_address: options.address ?? "Street 1" });
    const [{ id: delivery }] = await tx`insert into delivery.deliveries ${
      tx({
        tenant_id: tenant.id,
        delivery_code,
        barcode: `C-${delivery_code}`,
        status: "pending",
        institution_user_id: tenant.institution.id,
        delivery_service_id: service,
        payer_type: "receiver",
        payment_method: "cash",
        cod_amount: cod,
        delivery_fee: fee,
        currency,
        unit_size: 1,
        unit_size_source: "service_min",
        pickup_address_id: address,
        dropoff_address_id: address,
        pickup_snapshot: place,
        dropoff_snapshot: place,
        service_snapshot: tx.json({}),
      } as never)
    } returning id`;
    await tx`insert into money.cod_collections ${
      tx({
        id,
        tenant_id: tenant.id,
        delivery_id: delivery,
        driver_id: driver,
        collection_stage: cod > 0 ? "dropoff" : "pickup",
        amount: cod + fee,
        cod_amount: cod,
        delivery_fee_amount: fee,
        currency,
        collected_at: options.collectedAt ?? new Date(),
        delivery_code,
        delivery_number: String(delivery_code),
        external_reference_id: options.externalReference ?? null,
        customer_name: options.customerName ?? "Customer",
        delivery_address: options.address ?? "Street 1",
      })
    }`;
    const [accounts] =
      await tx`select money.account_of('driver_cash', 'driver', ${driver}, ${currency}) as held,
      money.account_of('external', 'tenant', null, ${currency}) as outside,
      money.account_of('cod_clearing', 'tenant', null, ${currency}) as clearing,
      money.account_of('wallet', 'institution', ${tenant.institution.id}, ${currency}) as merchant`;
    const taken = {
      journal: "taken",
      kind: "cash_collected",
      reference_type: "cod_collection",
      reference_id: id,
    };
    const credited = { ...taken, journal: "credited", kind: "cod_credit" };
    await tx`select money.post(${
      tx.json([
        { ...taken, account_id: accounts.held, amount: cod + fee },
        { ...taken, account_id: accounts.outside, amount: -(cod + fee) },
        ...(cod > 0
          ? [
            { ...credited, account_id: accounts.merchant, amount: cod },
            { ...credited, account_id: accounts.clearing, amount: -cod },
          ]
          : []),
      ])
    })`;
    if (cod > 0 && options.release) {
      await tx`insert into money.wallet_holds
        (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
        values (${tenant.id}, ${accounts.merchant}, 'cod_collection', ${id}, 1, ${cod}, ${options.release}, now(), now())`;
    }
    if (cod > 0) {
      await tx`insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, processed_at)
        values (${tenant.id}, 'DELIVERY', 'COD_COLLECTION', 'SUCCESS', 'cash', ${cod}, ${currency}, ${accounts.merchant}, ${delivery}, now())`;
    }
    return { id, delivery: delivery as string, code: delivery_code };
  });
}

/** The findings of a tenant's reconciliation. */
export const cashDifferences = (tenant: { id: string }) => cashOf(tenant, "1 second");

export const remit = "/delivery/cod-collections/remit";
export const settle = "/delivery/cod-collections/settle-by-wallet";

/** The body that settles these collections, in cash or by wallet. */
export const selected = (...ids: string[]) => ({ scope: "selected", cod_collection_ids: ids });

export const cashRow = async (id: string) =>
  (await sql`select * from money.cod_collections where id = ${id}`)[0];

/** How many settlements a tenant has. */
export const settlementsOf = async (tenant: Tenant) =>
  Number(
    (await sql`select count(*) from money.cod_settlements where tenant_id = ${tenant.id}`)[0].count,
  );

/** The balance of a person's accounts of a kind; null: of the tenant's. */
export const accountOf = async (tenant: Tenant, kind: string, owner: string | null) =>
  Number(
    (await sql`select coalesce(sum(balance), 0) as b from money.accounts where tenant_id = ${tenant.id} and kind = ${kind}
      and owner_user_id is not distinct from ${owner}`)[0].b,
  );

/** Books a shortage as up to 1.6.0 its resolution did, before its cash is remitted: on the desk of the person who counted. */
export async function bookedEarly(
  tenant: Tenant,
  handover: string,
  counter: { id: string },
  amount: number,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    await tx`select money.post_journal('cash_shortage', 'cash_handover', ${handover}, 'Shortage of a cash handover',
      array[money.account_of('cash_on_hand', 'staff', ${counter.id}, 'IQD'), money.account_of('external', 'tenant', null, 'IQD')],
      array[${-amount}::numeric, ${amount}::numeric])`;
  });
}
