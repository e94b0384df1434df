-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_proofs_keep(d delivery.deliveries, p_stage text, proof jsonb, field text DEFAULT 'proof'::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(nullif(proof -> 'photo_urls', 'null'), '[]')));
  v_signature text := proof ->> 'signature_url';
  v_needs jsonb := delivery.proof_needs(d, p_stage);
  v_at timestamptz := delivery.reported_at(d);
  v_missing text[];
begin
  perform delivery.require_proof_urls(v_photos, field || '.photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), field || '.signature_url');
  if v_photos <> '{}' or v_signature is not null then
    insert into delivery.delivery_proofs (tenant_id, delivery_id, stage, kind, url, signed_by, created_by, created_at)
    select d.tenant_id, d.id, p_stage, n.kind, n.url, case n.kind when 'signature' then proof ->> 'signed_by' end, app.user_id(),
      -- As its history has it: this pickup may have waited for the undo of the one before. Others are of the outcome with their time.
      case p_stage when 'pickup' then clock_timestamp() else now() end
    from (
      select 'photo' as kind, url from unnest(v_photos) url
      union all
      select 'signature', v_signature where v_signature is not null
    ) n
    where not exists (select from delivery.delivery_proofs p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = n.kind and p.url = n.url
        and delivery.proof_counts(p));
  end if;
  if not v_needs @? '$.* ? (@ == true)' then
    return;
  end if;
  if v_at is not null then
    v_needs := (
      select jsonb_object_agg(n.key, n.value::boolean and (t.needs -> n.key)::boolean)
      from jsonb_each(v_needs) n, delivery.proof_needs_at(d, p_stage, v_at) t (needs));
  end if;
  v_missing := array(
    select k.kind from (values ('photo'), ('signature')) k (kind)
    where (v_needs ->> (k.kind || '_required'))::boolean and not exists (
      select from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = k.kind
        and delivery.proof_counts(p))
    order by k.kind);
  if v_missing <> '{}' then
    perform app.fail('delivery_proof_required', jsonb_build_object('field',
      field || case v_missing[1] when 'photo' then '.photo_urls' else '.signature_url' end, 'stage', p_stage, 'missing', v_missing));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_counts(p delivery.delivery_proofs)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(p.tenant_id);
  return not exists (
    select from delivery.outcomes o
    where o.tenant_id = p.tenant_id and o.delivery_id = p.delivery_id and o.created_at = p.created_at and o.undone_at is not null)
  and not (p.stage = 'pickup' and exists (
    select from delivery.delivery_status_history h
    where h.tenant_id = p.tenant_id and h.delivery_id = p.delivery_id and h.created_at > p.created_at
      and h.from_status in ('picked_up', 'in_transit') and h.to_status in ('assigned', 'accepted')));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201030554';
end $$;

grant execute on function private.schema_version() to barid_api;
