/**
 * A company's books, reached by the functions of the database that the calls of the API run, without HTTP: each step is one
 * transaction and one round trip. Its steps live in the session alone, as a temporary function.
 */
import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { makeDrivers } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { newAddress } from "../../support/make.ts";
import { newService } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { holds } from "../invariants/holds.ts";
import { statements } from "../invariants/statements.ts";
import type { Line, Parcel, Shown } from "./model.ts";

/** The result of a step: a refusal's code or null, when it was, the wallet after it, and what was made. */
export interface Did extends Shown {
  code: string | null;
  at: bigint;
  id: string | null;
  lines: Line[] | null;
}

/** `input.do` names the step; refusals undo it and are answered. */
const step = `
create or replace function pg_temp.merchant_step(tenant uuid, actor uuid, driver uuid, owner uuid, wallet uuid, input jsonb) returns jsonb
language plpgsql as $$
declare
  v_code text;
  v_id uuid;
  v_lines jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true), set_config('app.user_id', actor::text, true), set_config('app.sees_tenant', 'on', true),
    set_config('app.grants', '{role:tenant_admin,permission:manage:tenant}', true);
  begin
    case input ->> 'do'
    when 'order' then
      insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, customer_id, delivery_service_id, payer_type, payment_method, cod_amount,
        delivery_fee, currency, unit_size, unit_size_source, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot, service_snapshot)
      select d.id, tenant, d.delivery_code, 'P-' || d.delivery_code, owner, d.delivery_service_id, 'sender', d.payment_method, d.cod_amount, d.delivery_fee,
        'IQD', 1, 'service_min', d.pickup_address_id, d.pickup_address_id, '{"full_address": "Street 1"}', '{"full_address": "Street 1"}', '{}'
      from jsonb_populate_record(null::delivery.deliveries, input -> 'delivery') d
      returning id into v_id;
      perform money.delivery_fee_charge(v_id);
      if (input ->> 'delivered')::boolean then
        perform money.cash_collected(v_id, 'dropoff', driver);
      end if;
    when 'refund' then perform money.delivery_fee_refund((input ->> 'id')::uuid);
    when 'undo' then
      perform money.cash_uncollected((input ->> 'id')::uuid, (select c.collected_at from money.cod_collections c
        where c.tenant_id = tenant and c.delivery_id = (input ->> 'id')::uuid), 'Wrong door');
    when 'adjust' then
      perform delivery.wallet_adjust(input || jsonb_build_object('id', wallet, 'reason', 'At the office'));
    when 'remit' then
      v_id := money.cod_remit(jsonb_build_object('scope', 'selected', 'remitted_to_user_id', actor, 'cod_collection_ids', (
        select jsonb_agg(c.id) from money.cod_collections c
        where c.tenant_id = tenant and c.delivery_id in (select x::uuid from jsonb_array_elements_text(input -> 'ids') x)))) ->> 'settlement_payment_id';
    when 'unremit' then
      perform money.cod_unsettle(jsonb_build_object('settlement_payment_id', input ->> 'id', 'reason', 'Wrong driver'));
    when 'state' then
      v_id := money.statement_open_book(jsonb_strip_nulls(jsonb_build_object('owner_user_id', owner, 'date_to', input ->> 'date_to')));
      select jsonb_agg(jsonb_build_object('movement', l.movement, 'kind', l.kind, 'amount', l.amount)) into v_lines
      from money.merchant_statement_lines l where l.tenant_id = tenant and l.statement_id = v_id;
    when 'pay' then perform money.statement_pay_book(input || '{"method": "bank"}');
    when 'reverse' then perform money.statement_reverse_book(input || '{"reason": "Sent back"}');
    when 'void' then perform money.statement_void_book(input);
    when 'rule' then
      update tenancy.tenant_settings s set settings = input -> 'rule' where s.tenant_id = tenant and s.module = 'delivery' and s.group_key = 'payouts';
    when 'member' then
      update tenancy.tenant_users u set is_active = (input ->> 'is_active')::boolean where u.tenant_id = tenant and u.user_id = owner;
    when 'days' then
      -- Later: everything that is held was written so many days before.
      perform set_config('session_replication_role', 'replica', true);
      update money.wallet_holds h set created_at = h.created_at - d.days, due_at = h.due_at - d.days, counts_from = h.counts_from - d.days
      from (select make_interval(days => (input ->> 'days')::integer) as days) d where h.tenant_id = tenant and h.account_id = wallet;
      perform set_config('session_replication_role', 'origin', true);
    end case;
  exception when sqlstate 'RULE0' then
    v_code := sqlerrm;
    v_id := null;
  end;
  if input ->> 'do' in ('remit', 'unremit') then
    -- Nobody prints receipts of these settlements.
    delete from app.jobs j where j.tenant_id = tenant and j.kind = 'delivery.settlement_receipt';
  end if;
  return (select jsonb_build_object('code', v_code, 'id', v_id, 'lines', v_lines, 'at', (extract(epoch from now()) * 1000000)::bigint::text,
    'balance', a.balance, 'held', money.held_of(tenant, a.id), 'stated', money.stated_of(tenant, a.id)) from money.accounts a where a.id = wallet);
end $$`;

/** Movements of a wallet that statements do not say whole, and what is not accounted for; read from the tables alone. */
const leftOver = `
  select e.version, e.amount, l.said from money.ledger_entries e
  join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id and t.kind not like 'merchant_payout%'
  cross join lateral (select coalesce(sum(l.amount), 0) as said from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id and s.status <> 'void'
    where l.tenant_id = e.tenant_id and l.account_id = e.account_id and l.movement = e.version) l
  where e.account_id = $1 and e.amount <> l.said`;

let code = 400_000_000 + Date.now() % 50_000_000;

export class Books {
  #owners: { owner: string; wallet: string }[] = [];
  owner = "";
  wallet = "";

  private constructor(
    private readonly one: postgres.Sql,
    readonly tenant: Tenant,
    private readonly places: Record<string, string>,
  ) {}

  /** The books of a new company, in a time zone where it is early in the morning: no day ends by itself meanwhile. */
  static async open(one: postgres.Sql): Promise<Books> {
    await one.unsafe(step);
    const tenant = await newTenant();
    await makeDrivers(tenant);
    const east = (3 - new Date().getUTCHours() + 36) % 24 - 12;
    await saveSettings(tenant.id, "general.timezone", {
      name: `Etc/GMT${east > 0 ? "-" : "+"}${Math.abs(east)}`,
    });
    await saveSettings(tenant.id, "delivery.payouts", {});
    const pickup_address_id = await newAddress(tenant);
    const delivery_service_id = await newService(tenant);
    return new Books(one, tenant, { pickup_address_id, delivery_service_id });
  }

  /** From now on the steps are about a merchant who has nothing yet. */
  async nextOwner(): Promise<void> {
    if (!this.#owners.length) this.#owners = await this.#newOwners(100);
    Object.assign(this, this.#owners.pop());
  }

  async do(input: Record<string, unknown>): Promise<Did> {
    const { id, admin, driver } = this.tenant;
    const [{ did }] = await this.one.unsafe(
      "select pg_temp.merchant_step($1, $2, $3, $4, $5, $6) as did",
      [id, admin.id, driver.id, this.owner, this.wallet, input as never],
      { prepare: true },
    );
    return { ...did, at: BigInt(did.at) };
  }

  /** Orders a parcel of the merchant, and delivers it; a fee above 0 is paid by the wallet. */
  order({ id, cod, fee }: Parcel, delivered: boolean): Promise<Did> {
    return this.do({
      do: "order",
      delivered,
      delivery: {
        ...this.places,
        id,
        delivery_code: ++code,
        payment_method: fee ? "wallet" : "cash",
        cod_amount: cod,
        delivery_fee: fee,
      },
    });
  }

  leftOver = (): Promise<unknown[]> => this.one.unsafe(leftOver, [this.wallet], { prepare: true });

  /** Breaches of what must hold of holds and statements of the whole company. */
  async breaches(): Promise<string[]> {
    const found: string[] = [];
    for (const { name, sql: query } of [...holds, ...statements]) {
      for (const row of await this.one.unsafe(query, [this.tenant.id])) {
        found.push(`${name}: ${JSON.stringify(row)}`);
      }
    }
    return found;
  }

  #newOwners(count: number): Promise<{ owner: string; wallet: string }[]> {
    const { id: tenant_id } = this.tenant;
    const ids = Array.from({ length: count }, () => randomUUID());
    return sql.begin(async (tx) => {
      const people = ids.map((id) => ({ id, email: `${id}@barid.test` }));
      await tx`insert into auth.users ${tx(people)}`;
      await tx`insert into tenancy.profiles ${
        tx(people.map((person) => ({ ...person, full_name: "Merchant" })))
      }
        on conflict (id) do nothing`;
      await tx`insert into tenancy.tenant_users ${
        tx(ids.map((user_id) => ({ tenant_id, user_id, tenant_user_type: "customer" })))
      }`;
      await tx`select set_config('app.tenant_id', ${tenant_id}, true)`;
      return await tx<{ owner: string; wallet: string }[]>`
        select u.id as owner, money.account_of('wallet', 'customer', u.id, 'IQD') as wallet from unnest(${ids}::uuid[]) u (id)`;
    });
  }
}
