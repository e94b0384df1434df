/** A call of two hundred items that can be interrupted in its middle. */
import postgres from "postgres";
import type { Stack } from "../../supabase/local/stack.ts";

let serial = 800_000_000;

/** Two hundred items that arrived and are proven, made from the demo's own manifest. */
export async function twoHundredItems(stack: Stack): Promise<string[]> {
  serial += 1000;
  const rows = await stack.sql`
    with template as (select m.* from delivery.transfer_manifests m join tenancy.tenants t on t.id = m.tenant_id
        where t.slug = 'demo' and m.driver_arrived_at is not null limit 1),
    manifest as (
      insert into delivery.transfer_manifests (tenant_id, manifest_number, status, institution_user_id, source_branch_id,
        source_address_id, source_snapshot, processing_point_id, driver_id, creation_source, driver_arrived_at)
      select tenant_id, 'TM-' || ${serial}::text, 'awaiting_receipt', institution_user_id, source_branch_id, source_address_id,
        source_snapshot, processing_point_id, driver_id, 'form', now() from template
      returning id, tenant_id),
    proof as (
      insert into delivery.transfer_manifest_proofs (tenant_id, manifest_id, stage, kind, url)
      select m.tenant_id, m.id, 'delivery', k, k || '.jpg' from manifest m, unnest(array['photo', 'signature']) k)
    insert into delivery.transfer_manifest_items (tenant_id, manifest_id, barcode_value, status, position)
    select m.tenant_id, m.id, delivery.barcode_build('DM', ${serial}::integer + n, 'IQ'), 'in_transit', n
    from manifest m, generate_series(1, 200) n
    returning id`;
  return rows.map((row) => row.id);
}

/**
 * A request that creates an order of the item waits from now until the response ends: however slow the test is, the call is not
 * done before it is interrupted.
 */
export async function holdUp(stack: Stack, item: string): Promise<postgres.Sql> {
  await stack.sql.unsafe(`
    create or replace function public.wait_for_test() returns trigger language plpgsql as $$
    begin
      if new.id = '${item}' and new.status = 'order_created' then
        perform pg_advisory_xact_lock_shared(4711);
      end if;
      return new;
    end $$;
    create or replace trigger wait_for_test before update on delivery.transfer_manifest_items
      for each row execute function public.wait_for_test()`);
  const held = postgres(stack.dbUrl, { max: 1, onnotice: () => {} });
  await held`select pg_advisory_lock(4711)`;
  return held;
}
