-- Receipts: asked for by the settlement, printed by a job, opened by a link that is signed afresh each time.

-- The mark of a settlement's money, printed in the QR code: the first 32 hex digits of SHA-256 over the
-- payment, its currency and every item, so that changing any of them changes it.
create or replace function money.receipt_hash(s money.cod_settlements, items money.cod_settlement_items[]) returns text
language plpgsql immutable set search_path = '' as $$
declare
  v_items text := (
    select string_agg(concat_ws(':', i.cod_collection_id, i.amount, i.cod_amount, i.delivery_fee_amount, i.delivery_code), ';' order by i.position)
    from unnest(items) i);
begin
  return left(encode(sha256(convert_to(concat_ws('|', s.payment_id, s.tenant_id, s.method, s.driver_id, s.currency, s.total,
    case when s.shortage > 0 then s.shortage end, v_items), 'UTF8')), 'hex'), 32);
end $$;

-- Has the receipt printed: by a job, which gives up after the third failure.
create or replace function money.receipt_queue(payment uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.job_add('delivery.settlement_receipt', jsonb_build_object('settlement_payment_id', payment), attempts_max => 3);
end $$;

-- Asks for the receipt of a new settlement with these items, in the language of the request. -> its status
create or replace function money.receipt_request(s money.cod_settlements, items money.cod_settlement_items[]) returns text
language plpgsql set search_path = '' as $$
declare
  v_status text;
begin
  insert into money.settlement_receipts (payment_id, tenant_id, language, hash)
  values (s.payment_id, s.tenant_id, coalesce(app.request_setting('language'), 'en'), money.receipt_hash(s, items))
  returning status into v_status;
  perform money.receipt_queue(s.payment_id);
  return v_status;
end $$;

-- Prints the receipt of a reversed settlement anew, so that it says so. A print that is under way is not waited
-- for: it is of the edition before, and ends as that.
create or replace function money.receipt_reissue(payment uuid) returns void
language plpgsql set search_path = '' as $$
begin
  update money.settlement_receipts r set status = 'pending', error = null, edition = r.edition + 1
  where r.tenant_id = app.tenant_id() and r.payment_id = payment;
  perform money.receipt_queue(payment);
end $$;

-- {settlement_payment_id} -> {settlement_payment_id, receipt_status, storage_path}; the driver of it or the office.
-- Fails: settlement_not_found.
create or replace function money.receipt_get(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_receipt money.settlement_receipts;
begin
  select r.* into v_receipt from money.settlement_receipts r
  join money.cod_settlements s on s.tenant_id = r.tenant_id and s.payment_id = r.payment_id
  where r.tenant_id = app.tenant_id() and r.payment_id = (input ->> 'settlement_payment_id')::uuid
    and (s.driver_id = app.user_id() or money.settles_for_office());
  if v_receipt.payment_id is null then
    perform app.fail('settlement_not_found');
  end if;
  return jsonb_build_object('settlement_payment_id', v_receipt.payment_id, 'receipt_status', v_receipt.status,
    'storage_path', v_receipt.storage_path);
end $$;

-- Prints again what failed; what is printed or being printed stays, unless a language is named that it is not in: then it is
-- printed anew in an edition of its own, and the prints before say the truth as before.
-- {settlement_payment_id, language?}; answer and failures as receipt_get.
create or replace function money.receipt_retry(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_payment uuid := (money.receipt_get(input) ->> 'settlement_payment_id')::uuid;
begin
  update money.settlement_receipts r set status = 'pending', error = null,
    language = coalesce(input ->> 'language', app.request_setting('language'), r.language),
    edition = r.edition + case when r.status = 'failure' then 0 else 1 end
  where r.tenant_id = app.tenant_id() and r.payment_id = v_payment and (r.status = 'failure' or r.language <> input ->> 'language');
  if found then
    perform money.receipt_queue(v_payment);
  end if;
  return money.receipt_get(input);
end $$;

-- The first print of a row settled before settlements were kept: makes a settlement of this row alone,
-- which moves no money. Two clicks make one. {id (collection)} -> as receipt_get.
-- Fails: cod_collection_not_found, cod_collection_not_settled.
create or replace function money.receipt_backfill(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_row money.cod_collections;
  v_method text;
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
begin
  select c.* into v_row from money.cod_collections c
  where c.tenant_id = v_tenant and c.id = (input ->> 'id')::uuid and (c.driver_id = app.user_id() or money.settles_for_office())
  for no key update;
  if v_row.id is null then
    perform app.fail('cod_collection_not_found');
  elsif v_row.status = 'collected' then
    perform app.fail('cod_collection_not_settled');
  elsif v_row.settlement_payment_id is not null then
    return money.receipt_retry(jsonb_build_object('settlement_payment_id', v_row.settlement_payment_id));
  end if;
  v_method := case v_row.status when 'remitted' then 'remit' else 'wallet' end;
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, reference, actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case v_method when 'remit' then 'cash' else 'wallet' end,
    v_row.amount, v_row.currency, v_row.reference, app.user_id(), coalesce(v_row.remitted_at, v_row.settled_at),
    money.cod_snapshot(array[v_row], v_method, 'selected', v_row.reference, v_row.notes,
      v_row.remitted_to_user_id)
    || jsonb_build_object('settled_at', coalesce(v_row.remitted_at, v_row.settled_at), 'historical', true));
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, notes, reference, historical, settled_at)
  values (v_payment, v_tenant, v_method, 'selected', v_row.driver_id, app.user_id(), v_row.remitted_to_user_id, v_row.currency, v_row.amount,
    v_row.cod_amount, v_row.delivery_fee_amount, 1, v_row.notes, v_row.reference, true, coalesce(v_row.remitted_at, v_row.settled_at))
  returning * into v_settlement;
  perform money.receipt_request(v_settlement, money.cod_items_record(v_payment, array[v_row]));
  update money.cod_collections c set settlement_payment_id = v_payment where c.tenant_id = v_tenant and c.id = v_row.id;
  return money.receipt_get(jsonb_build_object('settlement_payment_id', v_payment));
end $$;

-- Whether a receipt says the truth: its hash is the one that was printed, the rows still give it, and the settlement was
-- not reversed. {settlement_payment_id, hash} -> {valid, printed, unchanged, settlement}. Fails: settlement_not_found.
create or replace function money.receipt_verify(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_payment uuid := (money.receipt_get(input) ->> 'settlement_payment_id')::uuid;
begin
  return (
    select jsonb_build_object(
      'valid', r.hash = lower(input ->> 'hash') and r.hash = h.hash and s.reversed_at is null,
      'printed', r.hash = lower(input ->> 'hash'), 'unchanged', r.hash = h.hash,
      'settlement', jsonb_build_object('settlement_payment_id', s.payment_id, 'method', s.method, 'driver', money.person(s.driver_id),
        'receiver', money.person(s.receiver_id), 'currency', s.currency, 'total', s.total, 'cod', s.cod_total, 'delivery_fee', s.fee_total,
        'collections', s.collections, 'settled_at', s.settled_at, 'reversed_at', s.reversed_at, 'reversal_reason', s.reversal_reason))
    from money.settlement_receipts r
    join money.cod_settlements s on s.tenant_id = r.tenant_id and s.payment_id = r.payment_id
    cross join lateral (select money.receipt_hash(s, money.cod_items_of(s)) as hash offset 0) h
    where r.tenant_id = app.tenant_id() and r.payment_id = v_payment);
end $$;

-- Everything a receipt shows, and the mark that it is being printed. Null when it need not be printed
-- (any more). Asked by the job, outside any tenant.
create or replace function money.receipt_begin(payment uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_receipt money.settlement_receipts;
begin
  update money.settlement_receipts r set status = 'in_process'
  where r.payment_id = payment and r.status in ('pending', 'in_process')
  returning * into v_receipt;
  if v_receipt.payment_id is null then
    return null;
  end if;
  perform set_config('app.tenant_id', v_receipt.tenant_id::text, true);
  return (
    select jsonb_build_object('tenant_id', s.tenant_id, 'settlement_payment_id', s.payment_id, 'language', v_receipt.language,
      'hash', v_receipt.hash, 'edition', v_receipt.edition, 'reversed_at', s.reversed_at, 'snapshot', p.snapshot,
      'tenant_name', t.name, 'brand', app.settings('general', 'brand_settings'), 'timezone', app.timezone(),
      'decimals', money.decimals_of(s.currency::text))
    from money.cod_settlements s
    join money.payments p on p.tenant_id = s.tenant_id and p.id = s.payment_id
    join tenancy.tenants t on t.id = s.tenant_id
    where s.payment_id = payment);
end $$;

-- Ends the print of an edition: with the path of the file, or the reason it failed for good. False when it is printed
-- anew by now, or was printed by another.
create or replace function money.receipt_finish(payment uuid, edition integer, path text, reason text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update money.settlement_receipts r set status = case when path is null then 'failure' else 'success' end, storage_path = path,
    error = left(reason, 2000)
  where r.payment_id = payment and r.status = 'in_process' and r.edition = receipt_finish.edition;
  return found;
end $$;

-- Receipts that no job will print any more (their runner died at the last attempt) count as failed, so that
-- somebody can ask for them again. Run by cron; answers how many.
create or replace function money.receipts_sweep() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update money.settlement_receipts r set status = 'failure', error = 'no job was left to print it'
  where r.status in ('pending', 'in_process') and r.updated_at < now() - interval '10 minutes'
    and not exists (
      select from app.jobs j where j.kind = 'delivery.settlement_receipt' and j.status in ('queued', 'running')
        and j.payload ->> 'settlement_payment_id' = r.payment_id::text);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function money.receipt_begin(uuid), money.receipt_finish(uuid, integer, text, text) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.receipt_begin(uuid), money.receipt_finish(uuid,integer,text,text),
  money.receipts_sweep() from barid_caller;
