/** The baselines of a settlement: its rows written one by one without rules, and the core alone. */
import type { Bench } from "../bench-stack.ts";

/**
 * Makes bench.settle_plainly(collection, driver, actor): every row that money.cod_remit leaves behind, in the
 * same tables with their indexes, references and triggers. And bench.settle_alone(input), the core without the call
 * around it: the ledger refuses callers whom private.call did not bring (money.require_core), so it runs as the
 * owner of the database.
 */
export async function plainStatements({ stack: { sql } }: Bench): Promise<void> {
  await sql.unsafe(`
    create function bench.settle_plainly(collection uuid, driver uuid, actor uuid) returns void
    language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
    declare
      t uuid := app.tenant_id();
      p uuid := gen_random_uuid();
      j uuid := gen_random_uuid();
      held uuid;
      desk uuid;
      a record;
    begin
      select x.id into held from money.accounts x
      where x.tenant_id = t and x.kind = 'driver_cash' and x.owner_type = 'driver' and x.owner_user_id = driver and x.currency = 'IQD';
      desk := money.account_of('cash_on_hand', case when actor = driver then 'driver' else 'staff' end, actor, 'IQD');
      insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, actor_id, processed_at, snapshot)
      values (p, t, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', 'cash', 1000, 'IQD', actor, now(),
        '{"method": "remit", "scope": "selected", "collections": [{"amount": 1000, "cod": 900, "delivery_fee": 100}]}');
      insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
        fee_total, collections)
      values (p, t, 'remit', 'selected', driver, actor, actor, 'IQD', 1000, 900, 100, 1);
      insert into money.cod_settlement_items (tenant_id, payment_id, position, cod_collection_id, amount, cod_amount, delivery_fee_amount,
        delivery_code, delivery_number)
      values (t, p, 1, collection, 1000, 900, 100, 500000001, '500000001');
      update money.cod_collections c set status = 'remitted', remitted_at = now(), remitted_to_user_id = actor, settlement_payment_id = p
      where c.tenant_id = t and c.id = collection;
      insert into money.settlement_receipts (payment_id, tenant_id, hash) values (p, t, '0123456789abcdef0123456789abcdef');
      insert into app.jobs (tenant_id, kind, payload) values (t, 'bench.receipt', jsonb_build_object('settlement_payment_id', p));
      insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id)
      values (t, 'cod_settlement.created', 'delivery', 'cod_settlement', p);
      insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id) values (j, t, 'bench', 'payment', p);
      update money.accounts x set balance = x.balance - 1000, version = x.version + 1 where x.tenant_id = t and x.id = held
      returning x.balance, x.version into a;
      insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
      values (t, j, held, -1000, 'IQD', a.balance, a.version);
      update money.accounts x set balance = x.balance + 1000, version = x.version + 1 where x.tenant_id = t and x.id = desk
      returning x.balance, x.version into a;
      insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
      values (t, j, desk, 1000, 'IQD', a.balance, a.version);
    end $$;
    create function bench.settle_alone(input jsonb) returns jsonb
    language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
    begin
      return money.cod_remit(input);
    end $$;
    grant execute on function bench.settle_plainly(uuid, uuid, uuid), bench.settle_alone(jsonb) to barid_api`);
}
